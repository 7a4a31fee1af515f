"""An evaluation by several judges of the same claims and facts, which the first one lists."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pandas as pd

from flows.evaluation.models import CommandRun
from flows.evaluation.work import (
    Evaluation,
    evaluation_of,
    judge_all,
    judge_table,
    own_metrics,
    problem_of,
    without_p,
)
from flows.runtime.chunks import Frames
from schemas.errors import SourceError
from schemas.params import Params
from schemas.params.llm import RoleName
from schemas.params.measures import Evaluate
from schemas.tables.columns import typed
from schemas.tables.evaluate import UNSCORED_OUTPUTS
from schemas.tables.verdicts import in_order
from tasks.llm.calls import Ask, Asks
from tasks.measures.described import OF_OUTPUTS
from tasks.measures.described import chosen as measures
from tasks.measures.evaluation import WRITING, plan_of
from tasks.measures.own import Own
from tasks.measures.several_judges import Divided, Once, judges_table, verdicts_of
from tasks.reporting.evaluation_text import RULES
from tasks.texts.document import documents_of
from tasks.texts.reading import DataSet


def share_lists(runs: Sequence[CommandRun]) -> None:
    """Have the first judge list for all, and the other models of the run that asks first write and answer for all."""
    lists, shared = Once(runs[0].ask("judge")), dict[RoleName, Ask]()

    def answering(role: RoleName, client: Asks) -> Ask:
        if role == "judge":
            return Divided(lists, client(role))
        if role not in shared:
            shared[role] = Once(client(role))
        return shared[role]

    for run in runs:
        run.wrap = answering


async def judge_by_each(runs: Mapping[str, CommandRun], chosen: Evaluate, data: DataSet) -> Evaluation:
    """The first judge's evaluation with the tables of all judges; every claim and fact is the same for all."""
    first, *further = runs
    made = {first: await judge_all(runs[first], chosen, data)}
    evaluation = evaluation_of(runs[first], chosen, data, made[first])
    written = replace(data, documents=documents_of(made[first]["documents"]))
    only, plan = chosen.model_copy(update={"write": [], "own": []}), replace(plan_of(chosen, data), writers=())
    for name in further:
        made[name] = await judge_all(runs[name], only, written, plan)
    return _compared(evaluation, made, runs, own_metrics(chosen, plan))


def _compared(
    evaluation: Evaluation, made: Mapping[str, Frames], runs: Mapping[str, CommandRun], own: Own
) -> Evaluation:
    params = next(iter(runs.values())).params
    labels = {name: run.ask("judge").label for name, run in runs.items()}
    several = len({run.params.doclens.style for run in runs.values()}) > 1
    parts = [verdicts_of(tables, name, several_readings=several) for name, tables in made.items()]
    verdicts = pd.concat(parts, ignore_index=True)
    table = judges_table(evaluation.documents, evaluation.plan, made, verdicts, params, labels)
    rules = [name for name, label in labels.items() if RULES in label]
    by_rules = table["system"].isin(rules) | table["condition"].str.removeprefix("against ").isin(rules)
    evaluation = evaluation.with_table("verdicts", verdicts).with_table("judges", without_p(table, by_rules))
    if "planted" in evaluation.tables:
        planted = {name: tables["planted"].assign(judge=name) for name, tables in made.items()}
        found = [
            judge_table(rows, own, seed=params.seed, system=name, provenance=f"judge: {labels[name]}")
            for name, rows in planted.items()
        ]
        evaluation = evaluation.with_table("planted", in_order(pd.concat(planted.values(), ignore_index=True)))
        evaluation = evaluation.with_table("judge", pd.concat(found, ignore_index=True))
    names = list(runs)
    unscored = [evaluation.tables["unscored"]]
    for name in names[1:]:  # what is missing or was not written is the first judge's to name
        rows = made[name]["unscored"]
        lost = rows[rows["method"] != WRITING]
        unscored.append(typed(lost.assign(step=lost["step"] + f", judge {name}"), UNSCORED_OUTPUTS))
    problems = {name: problem_of(made[name], params.runtime.max_unscored_share) for name in names}
    said = [f"judge {name}: {problem}" for name, problem in problems.items() if problem is not None]
    evaluation = evaluation.with_table("unscored", pd.concat(unscored, ignore_index=True))
    return replace(evaluation, problem="\n".join(said) or None)


def require_work_of_judges(judges: Mapping[str, Params], chosen: Evaluate, data: DataSet) -> None:
    """Raise SourceError for several judges of an evaluation in which nothing is judged."""
    if judges and not any(one.judged for one in measures(plan_of(chosen, data).metrics)):
        judged = ", ".join(one.choice for one in OF_OUTPUTS if one.judged)
        raise SourceError(f"{chosen.data}: several judges, and nothing to judge; add one of {judged}")
