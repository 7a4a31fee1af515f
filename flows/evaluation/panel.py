"""An evaluation by several judges of the same claims and facts, which one lister lists."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import Any

import pandas as pd

from flows.evaluation.folder import manifest, model_of
from flows.evaluation.judges import Panel
from flows.evaluation.models import CommandRun
from flows.evaluation.work import Evaluation, evaluation_of, judge_all, problem_of, roles_of
from flows.runtime.chunks import Frames
from flows.runtime.clients import Confirm
from schemas.errors import ParamsError, SourceError, did_you_mean
from schemas.params import Params
from schemas.params.llm import RoleName
from schemas.params.measures import Evaluate
from schemas.tables.columns import typed
from schemas.tables.evaluate import UNSCORED_OUTPUTS
from tasks.judges.judging import numbered
from tasks.llm.calls import Ask, Asks
from tasks.measures.evaluation import WRITING, plan_of
from tasks.measures.panel import Divided, Once, agreement_table, by_judge, verdicts_of
from tasks.statistics.panels import PANEL, family_rows
from tasks.texts.document import documents_of
from tasks.texts.reading import DataSet


def require_families(panel: Panel, systems: Sequence[str]) -> None:
    """Raise ParamsError for a family of a name that no judge or system has, or both have, or without a contrast."""
    for name in panel.families:
        if name in panel.judges and name in systems:
            raise ParamsError(f"--family {name}: a judge and a system have this name; name the judge otherwise")
        if name not in panel.judges and name not in systems:
            known = [*panel.judges, *systems]
            said = f"--family {name}: expected a judge or a system, one of {', '.join(known)}"
            raise ParamsError(said + did_you_mean(name, known))
    if panel.families and not family_rows(_same_scores(list(panel.judges), systems), panel.families):
        raise ParamsError(
            "--family: no gain of a judge's own family can be told from lenient judges and good systems; expected "
            "a judge and a system of one family, and a judge and a system of others"
        )


def _same_scores(judges: Sequence[str], systems: Sequence[str]) -> pd.DataFrame:
    """One document with a score of 0 by every judge for every system."""
    about = {"document": "", "item": "", "value": 0.0}
    return pd.DataFrame([{**about, "judge": judge, "system": system} for judge in judges for system in systems])


async def run_panel(
    panel: Panel, params: Params, chosen: Evaluate, data: DataSet, confirm: Confirm | None
) -> tuple[Evaluation, dict[str, Any]]:
    """The evaluation by a panel, and its manifest with the identities of all judges and of the lister."""
    require_outputs(panel, chosen, data)
    roles = roles_of(chosen, data)
    async with AsyncExitStack() as opened:
        every: dict[str, CommandRun] = {}
        for name in panel.everyone:
            run = CommandRun(panel.params_of(params, name), confirm)
            every[name] = await opened.enter_async_context(run)
        judges, first = {name: every[name] for name in panel.judges}, every[panel.first]
        for run in every.values():
            await run.identify(roles if run is first else ["judge"])
        share_lists(judges.values(), every[panel.lister])
        evaluation = await judge_by_panel(judges, panel, chosen, data)
        for run in every.values():
            run.require_answers()
        models = {name: model_of(run.fingerprints, "judge", run.params) for name, run in every.items()}
        made_from = manifest(evaluation, chosen, first.params, first.fingerprints, roles)
        about = {
            "judges": {name: models[name] for name in judges},
            "lister": {"name": panel.lister, **models[panel.lister]},
            "families": dict(panel.families),
        }
        return evaluation, {**made_from, "panel": about}


def share_lists(judges: Iterable[CommandRun], lister: CommandRun) -> None:
    """Have the lister list for all judges, and the other models of the run that asks first write and answer for all."""
    lists, shared = Once(lister.ask("judge")), dict[RoleName, Ask]()

    def answering(role: RoleName, client: Asks) -> Ask:
        if role == "judge":
            return Divided(lists, client(role))
        if role not in shared:
            shared[role] = Once(client(role))
        return shared[role]

    for run in judges:
        run.wrap = answering


async def judge_by_panel(judges: Mapping[str, CommandRun], panel: Panel, chosen: Evaluate, data: DataSet) -> Evaluation:
    """The first judge's evaluation with the tables of all judges; every claim and fact is the same for all."""
    first, *further = judges
    made = {first: await judge_all(judges[first], chosen, data)}
    evaluation = evaluation_of(judges[first], chosen, data, made[first])
    written = replace(data, documents=documents_of(made[first]["documents"]))
    only, plan = chosen.model_copy(update={"write": [], "own": []}), replace(plan_of(chosen, data), writers=())
    for name in further:
        made[name] = await judge_all(judges[name], only, written, plan)
    return _with_panel(evaluation, made, judges, panel)


def _with_panel(
    evaluation: Evaluation, made: Mapping[str, Frames], judges: Mapping[str, CommandRun], panel: Panel
) -> Evaluation:
    params = judges[panel.first].params
    labels = {name: run.ask("judge").label for name, run in judges.items()}
    metrics, shares = by_judge(evaluation.documents, evaluation.plan, made, params, labels)
    verdicts = pd.concat([verdicts_of(tables, name) for name, tables in made.items()], ignore_index=True)
    planted = None
    if all("planted" in tables for tables in made.values()):
        parts = [tables["planted"].assign(provenance=name) for name, tables in made.items()]
        planted = numbered(pd.concat(parts, ignore_index=True))
    names = list(panel.judges)
    tables = {
        "verdicts_by_judge": verdicts,
        "by_judge": metrics,
        "judge_agreement": agreement_table(verdicts, shares, planted, panel.families, judges=names, seed=params.seed),
    }
    tables |= {} if planted is None else {"planted_by_judge": planted}
    for stem, table in tables.items():
        evaluation = evaluation.with_table(stem, table)
    unscored = [evaluation.table("unscored"), *(_failures(made[name], name) for name in names[1:])]
    problems = {name: problem_of(made[name], params.runtime.max_unscored_share) for name in names}
    said = [f"judge {name}: {problem}" for name, problem in problems.items() if problem is not None]
    evaluation = evaluation.with_table("unscored", pd.concat(unscored, ignore_index=True))
    return replace(evaluation, problem="\n".join(said) or None)


def _failures(made: Frames, judge: str) -> pd.DataFrame:
    """What a further judge could not score; what is missing or was not written is the first one's to name."""
    rows = made["unscored"][made["unscored"]["method"] != WRITING]
    return typed(rows.assign(step=rows["step"] + f", judge {judge}"), UNSCORED_OUTPUTS)


def require_outputs(panel: Panel, chosen: Evaluate, data: DataSet) -> None:
    """Raise ParamsError for a judge with the panel's name or a family of nobody, SourceError without work."""
    if PANEL in panel.judges:
        raise ParamsError(f"--judge {PANEL}: {PANEL!r} is the name of the panel; choose another")
    plan = plan_of(chosen, data)
    require_families(panel, plan.systems)
    if set(plan.metrics) <= {"overlap"} and len(panel.judges) > 1:
        raise SourceError(f"{chosen.data}: several judges, and nothing to judge; add doclens, grounding or med_omit")
