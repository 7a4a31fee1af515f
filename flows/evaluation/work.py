"""One evaluation: its documents are read, judged in chunks, and made into tables."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from inspect import getdoc
from pathlib import Path
from typing import Any, Protocol

import pandas as pd

from flows.evaluation.judges import NO_JUDGE
from flows.runtime.chunks import ChunkWork, Frames
from schemas.errors import ParamsError, SourceError, UnscoredError
from schemas.params import Params
from schemas.params.llm import RoleName
from schemas.params.measures import Evaluate
from schemas.tables.columns import typed
from schemas.tables.evaluate import UNSCORED_OUTPUTS
from tasks.judges.cases import Given
from tasks.judges.rates import rates
from tasks.llm.ask_all import Unscored
from tasks.llm.calls import Ask, Asks
from tasks.measures.cases import CASES_OF, judge_planted
from tasks.measures.declared import Plan
from tasks.measures.described import METRICS as SHIPPED
from tasks.measures.described import chosen as chosen_measures
from tasks.measures.doclens.evaluators import provenance
from tasks.measures.doclens.judging import NAME as DOCLENS
from tasks.measures.evaluation import (
    COMPUTING,
    WRITING,
    document_scores,
    evaluate_chunk,
    evaluation_tables,
    failed_documents,
    failed_share,
    impossible_measures,
    in_order,
    plan_of,
    unscored_outputs,
    writer_prompt,
)
from tasks.measures.measure import figures
from tasks.measures.own import UNDEFINED, Own, OwnMetric, known_rows, load_metrics
from tasks.reporting.display import percent
from tasks.reporting.evaluation_text import AGAIN, DRY_RUN, OWN, RULES
from tasks.statistics.bootstrap import sample_records
from tasks.statistics.metric_rows import COMPUTED, metric_table
from tasks.texts.document import Document, documents_of, documents_table, system_names
from tasks.texts.reading import DataSet, output_files, read_documents
from tasks.tracking.comparison import compare_systems

_NAMED = 8
"""Most documents that an error names."""
_P_VALUES = r"(?:spearman|pearson)_p|p_value_\w+"


class Runner(Protocol):
    """Runs chunks and knows the models: a stage, or a run of the command."""

    params: Params

    async def in_chunks(self, work: ChunkWork, frames: Frames, *, by: str = "record") -> Frames: ...

    def ask(self, role: RoleName) -> Ask: ...


@dataclass(frozen=True)
class Evaluation:
    """The documents with all outputs, how they were judged, and the tables by file stem.

    ``problem``: why the judgements should not be used, None for an evaluation with few failures. ``own``: what the
    user's own metrics mean, by name.
    """

    documents: list[Document]
    plan: Plan
    tables: Frames
    problem: str | None = None
    own: Mapping[str, str] = field(default_factory=dict)

    @property
    def systems(self) -> list[str]:
        """Names of the systems, in the order of the data."""
        return list(self.plan.systems)

    def with_table(self, stem: str, frame: pd.DataFrame) -> "Evaluation":
        """The evaluation with a further table."""
        return replace(self, tables={**self.tables, stem: frame})

    def require_scored(self) -> None:
        """Raises UnscoredError where more judgements failed than ``runtime.max_unscored_share`` allows."""
        if self.problem is not None:
            raise UnscoredError(self.problem)


RESERVED = frozenset({"all", "all systems", "judge", "notes", "systems"})
"""What the tables have in the column ``system`` of rows on no single system; the source is refused with its row."""
MOST_SYSTEMS = 100
"""Most systems of an evaluation, which compares every two of them on every metric."""
NO_REFERENCE = "no document has a reference; name their column with --map reference=COLUMN"


def read_data(chosen: Evaluate) -> DataSet:
    """The documents of an evaluation. Raises SourceError with one line for each defect."""
    data = read_documents(
        Path(chosen.data),
        output_files(chosen.outputs),
        chosen.map,
        claims=None if chosen.claims is None else Path(chosen.claims),
        split=chosen.split,
        encoding=chosen.encoding,
        allow_empty=chosen.allow_empty,
    )
    return require_work(chosen, data)


def require_work(chosen: Evaluate, data: DataSet) -> DataSet:
    """The chosen documents. Raises SourceError when there is no output, or no reference for all that was chosen.

    Metrics that the data does not allow are left out where others remain, and a note says so.
    """
    documents, systems = data.documents[: chosen.documents], system_names(data.documents)
    if taken := [name for name in systems if name in RESERVED]:
        raise SourceError(
            f"{chosen.data}: system {taken[0]}: the tables have this name for rows on no single system; name it "
            "otherwise, in the data or with --map output:NAME=COLUMN or --outputs NAME=FILE"
        )
    if len(systems) > MOST_SYSTEMS:
        raise SourceError(
            f"{chosen.data}: has {len(systems):,} systems; expected at most {MOST_SYSTEMS}, as every two are compared; "
            "evaluate some of them at a time"
        )
    if not systems and not chosen.write:
        raise SourceError(
            f"{chosen.data}: no output to evaluate; {f'it has {data.columns}; ' if data.columns else ''}name a column "
            "with --map output:NAME=COLUMN or a file with --outputs NAME=FILE, or have outputs written (--write 0)"
        )
    lacking = [one.choice for one in impossible_measures(chosen, documents)]
    if chosen.planted and not planting(chosen) and all(one.cases is None for one in _own(chosen)):
        known = " or ".join(planting(chosen.model_copy(update={"metrics": None})))
        raise ParamsError(f"--planted: no chosen metric has cases made of references; add {known} to --metrics")
    if chosen.planted and not any(document.reference for document in documents):
        raise SourceError(f"{chosen.data}: --planted needs references: {NO_REFERENCE}, or leave it out")
    if lacking and len(lacking) == len(chosen_measures(chosen.metrics)) and not chosen.own:
        needs = f"{lacking[0]} needs" if len(lacking) == 1 else f"{' and '.join(lacking)} need"
        raise SourceError(f"{chosen.data}: {needs} references: {NO_REFERENCE}, or choose other metrics")
    notes = [f"{metric} is left out: {NO_REFERENCE}" for metric in lacking]
    data = replace(data, documents=documents, notes=(*data.notes, *notes))
    if chosen.write and "section" in chosen.write_by and writer_prompt(data) != "cited_note":
        raise SourceError(
            f"{chosen.data}: --write-by section is for SOAP notes of dialogues, and most sources are none; "
            "use --write-by whole"
        )
    return data


def roles_of(chosen: Evaluate, data: DataSet) -> list[RoleName]:
    """The roles that an evaluation calls."""
    asked: set[str] = {role for one in chosen_measures(chosen.metrics) for role in one.roles(data.documents)}
    asked |= {"writer"} if chosen.write else set()
    asked |= {"judge"} if asking_metrics(chosen) else set()
    ordered: tuple[RoleName, ...] = ("writer", "annotator", "answerer", "judge")
    return [role for role in ordered if role in asked]


def asking_metrics(chosen: Evaluate) -> list[str]:
    """Names of the user's own metrics that ask the judge; how often, only their code knows."""
    return [one.name for one in _own(chosen) if one.asks]


def _own(chosen: Evaluate) -> list[OwnMetric]:
    return load_metrics([Path(file) for file in chosen.own], taken=SHIPPED)


def planting(chosen: Evaluate) -> list[str]:
    """The chosen measures of which the judge can be asked cases made of references."""
    return [
        one.name
        for one in chosen_measures(chosen.metrics)
        if any(cases.judge is not None and not cases.of_records for cases in CASES_OF.get(one.name, ()))
    ]


def require_judge(chosen: Evaluate, judges: Sequence[str]) -> None:
    """Raise ParamsError where an evaluation asks a model and no judge is named."""
    if judges:
        return
    judged = any(one.judged for one in chosen_measures(chosen.metrics))
    if judged or chosen.write or asking_metrics(chosen):
        raise ParamsError(f"--judge: no default; {NO_JUDGE}")


async def judge_all(runner: Runner, chosen: Evaluate, data: DataSet, plan: Plan | None = None) -> Frames:
    """Have outputs written if asked for, and judge all: the tables of `evaluate_chunk`, and planted (VERDICTS).

    ``plan``: `plan_of` by default.
    """
    frames, plan = {"documents": documents_table(data.documents)}, plan or plan_of(chosen, data)
    own = own_metrics(chosen, plan)
    made = await runner.in_chunks(partial(evaluate_chunk, plan), frames, by="document")
    if chosen.planted:
        having = [document for document in data.documents if document.reference is not None]
        drawn = sample_records(pd.Series(range(len(having))), chosen.planted, seed=runner.params.seed)
        chosen_documents = [having[place] for place in drawn]
        frames = {"documents": documents_table(chosen_documents)}
        known, failed = await own.judge_cases(runner.ask, chosen_documents, runner.params.seed)
        parts = [{"planted": known, "unscored": _planted_unscored(failed)}]
        if names := planting(chosen):
            parts.append(await runner.in_chunks(partial(planted_chunk, names), frames, by="document"))
        made["planted"] = pd.concat([one["planted"] for one in parts], ignore_index=True)
        made["unscored"] = pd.concat([made["unscored"], *(one["unscored"] for one in parts)], ignore_index=True)
    if chosen.own:
        found = await own.judge(runner.ask, documents_of(made["documents"]))
        unscored = unscored_outputs(found["unscored"], OWN, plan.systems)
        made |= {OWN: found["verdicts"], "unscored": pd.concat([made["unscored"], unscored], ignore_index=True)}
    return in_order(made)


def own_metrics(chosen: Evaluate, plan: Plan) -> Own:
    """The measure of the user's own metrics."""
    return Own(_own(chosen), plan.systems, OWN, OWN)


async def planted_chunk(measures: Sequence[str], frames: Frames, ask: Asks, params: Params) -> Frames:
    """The judge's answers to the cases of measures made of a chunk of the user's references, which are known."""
    references = {document.id: str(document.reference) for document in documents_of(frames["documents"])}
    planted, failed = await judge_planted(ask("judge"), Given(references, params), measures=measures)
    return {"planted": planted, "unscored": _planted_unscored(failed)}


def _planted_unscored(failed: Unscored) -> pd.DataFrame:
    rows = [{**row, "document": row["record"], "system": None, "method": "planted"} for row in failed]
    return typed(rows, UNSCORED_OUTPUTS)


def judge_table(planted: pd.DataFrame, own: Own, *, seed: int, provenance: str, system: str = "judge") -> pd.DataFrame:
    """METRICS of a judge on cases (VERDICTS): its rates, and how the user's own metrics depart from known scores."""
    is_own = planted["metric"].isin(list(own.metrics))
    about: dict[str, Any] = {"seed": seed, "system": system, "provenance": provenance}
    known = metric_table(known_rows(planted[is_own]), stage=OWN, **about)
    return pd.concat([rates(planted[~is_own], **about), known], ignore_index=True)


async def evaluate_data(runner: Runner, chosen: Evaluate, data: DataSet) -> Evaluation:
    """Have outputs written if asked for, judge all outputs, and compare the systems."""
    return evaluation_of(runner, chosen, data, await judge_all(runner, chosen, data))


def evaluation_of(runner: Runner, chosen: Evaluate, data: DataSet, made: Frames) -> Evaluation:
    """The evaluation of what `judge_all` made: metrics, scores, and comparisons of the systems."""
    plan, params = plan_of(chosen, data), runner.params
    order = {document.id: place for place, document in enumerate(data.documents)}
    documents = sorted(documents_of(made["documents"]), key=lambda one: order[one.id])
    roles = roles_of(chosen, data)
    made_by = ", ".join(f"{role}: {runner.ask(role).label}" for role in roles) or COMPUTED
    made_by = provenance(params.doclens, made_by) if DOCLENS in plan.metrics else made_by
    dry_run = "judge" in roles and RULES in runner.ask("judge").label
    made_by = f"{DRY_RUN}; {made_by}" if dry_run else made_by
    own = own_metrics(chosen, plan)
    metrics, scores = evaluation_tables(documents, plan, made, params, provenance=made_by)
    if own.functions:
        of_own = own.made_by(runner.ask)
        rows = figures(made[OWN], own.metrics, stage=OWN, seed=params.seed, provenance=of_own)
        metrics = pd.concat([metrics, rows], ignore_index=True)
        scores = pd.concat([scores, document_scores(made[OWN], own.metrics, OWN)], ignore_index=True)
    unscored, systems = made["unscored"], list(plan.systems)
    judged = unscored[unscored["method"] != "planted"]
    asking = [one.name for one in own.functions if one.asks]
    comparisons = compare_systems(
        scores,
        failed_documents(judged, systems),
        metrics,
        systems,
        seed=params.seed,
        own={one.name: one.bounds for one in own.functions},
        left_out=scores.loc[_by_judge(scores, asking), "metric"].unique() if dry_run else (),
    )
    if dry_run:
        comparisons = untested(comparisons, asking)
        metrics = without_p(metrics, _by_judge(metrics, asking))
    tables = {"metrics": metrics, "comparisons": comparisons, "scores": scores, "unscored": unscored}
    tables |= {one.table: made[one.name] for one in chosen_measures(plan.metrics) if one.table is not None}
    if "questions" in made:
        tables["questions"] = made["questions"]
    if "planted" in made:
        judge = judge_table(made["planted"], own, seed=params.seed, provenance=made_by)
        tables |= {"judge": judge, "planted": made["planted"]}
    meanings = {one.name: (getdoc(one.score) or "").partition("\n")[0] for one in own.functions}
    return Evaluation(documents, plan, tables, problem_of(made, params.runtime.max_unscored_share), meanings)


def _by_judge(rows: pd.DataFrame, asking: Sequence[str]) -> pd.Series:
    """Whether each row is the judge's: not if computed, nor what all measures lack, as an output."""
    return ~rows["stage"].isin([*COMPUTING, OWN, "all"]) | rows["metric"].isin(asking)


def untested(comparisons: pd.DataFrame, asking: Sequence[str]) -> pd.DataFrame:
    """The comparisons of a dry run: those by the judge, as are the metrics ``asking`` it, have no test."""
    by_judge = _by_judge(comparisons, asking)
    note = comparisons["note"].mask(by_judge, DRY_RUN)
    changed = comparisons["changed"] & ~by_judge
    return comparisons.assign(p=comparisons["p"].mask(by_judge), changed=changed, note=note)


def without_p(metrics: pd.DataFrame, by_rules: pd.Series) -> pd.DataFrame:
    """METRICS without the p-values of rows ``by_rules``, of which a dry run tests nothing."""
    return metrics[~(by_rules & metrics["metric"].str.fullmatch(_P_VALUES))].reset_index(drop=True)


def problem_of(made: Frames, allowed: float) -> str | None:
    """Why the judgements should not be used: more failed than ``allowed``.

    What the data lacks does not count, nor do texts for which a metric of the user that computes is not defined.
    """
    failed = made["unscored"]
    failed = failed[(failed["step"].ne("output") | failed["method"].ne(WRITING)) & ~failed["method"].isin(COMPUTING)]
    failed = failed[failed["reason"].ne(UNDEFINED)]
    share, scores = failed_share(made, failed)
    if share <= allowed:
        return None
    documents, reasons = failed["document"].drop_duplicates().tolist(), failed["reason"].value_counts().head(3)
    more = f" and {len(documents) - _NAMED} more" if len(documents) > _NAMED else ""
    said = "; ".join(f"{reason} ({count})" for reason, count in reasons.items())
    doubt = "Does this model follow instructions and reply in JSON? " if share > 0.5 else ""
    return (
        f"{percent(share)} of {scores} scores by a model failed (of a text by a measure; in part where some of its "
        f"verdicts failed), more than runtime.max_unscored_share {allowed:g}, in documents "
        f"{', '.join(documents[:_NAMED])}{more}. Reasons: {said}. Details are in the table unscored. "
        f"{doubt}{AGAIN.capitalize()}, leave these documents out, choose another judge, or raise "
        "runtime.max_unscored_share of the params"
    )
