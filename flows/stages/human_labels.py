"""Stages `human_labels`, judges calibrated with people's labels, and `human_agreement`, metrics and people's scores."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import pandas as pd

from flows.runtime.chunks import Frames
from flows.runtime.stage import Stage
from flows.stages.recorded_judge import STRONG, recorded
from schemas.params import Params
from schemas.params.measures import Evaluate
from schemas.tables.columns import typed
from schemas.tables.metrics import UNSCORED
from tasks.judges.human_labels import file_rows, form_rows
from tasks.judges.human_scores import (
    NOTHING,
    STAGE,
    agreement_rows,
    claims_of_references,
    nothing_to_judge,
    wide_scores,
)
from tasks.llm.calls import Ask
from tasks.measures.declared import Plan
from tasks.measures.described import METRICS
from tasks.measures.evaluation import evaluate_chunk, evaluation_tables, in_order, plan_of
from tasks.statistics.metric_rows import Row, metric_table
from tasks.texts.document import Document, documents_of, documents_table
from tasks.texts.mts_dialog import FILES, SUMMARIES, read_study
from tasks.texts.reading import DataSet


async def run_human_labels(stage: Stage) -> None:
    """Estimate the share of verdicts that hold, for each form and file."""
    seed = stage.params.seed
    forms = [stem for stem in stage.files.deps if stem.endswith("_labels")]
    tables = [form_rows(stage.load(stem), stem.removesuffix("_labels") + "s", seed=seed) for stem in forms]
    tables += [file_rows(file, seed=seed) for file in sorted(stage.dep("labels_returned").glob("*.csv"))]
    stage.save_metrics("human_labels", pd.concat(tables, ignore_index=True))


READ = tuple(str(number) for number in range(2, 100, 5))
"""The dialogues that were read when the prompts in degrees and the headings were written."""


JUDGED = [name for name, metric in METRICS.items() if metric.judged and metric.label]
"""Metrics of the judge that are compared with people's scores."""


def reads_human_agreement(_: Params) -> list[str]:
    """The files of outside data that the stage reads."""
    return list(FILES)


async def run_human_agreement(stage: Stage) -> None:
    """Judge the summaries and correlate; empty without sources."""
    if stage.sources is None or not (stage.sources / SUMMARIES).is_file():
        stage.save_nothing()
        return
    documents, human = read_study(stage.sources)
    data = DataSet(documents, "own", ())
    plan = plan_of(Evaluate(data=SUMMARIES), data)
    frames = {"documents": documents_table(documents)}
    made = in_order(await stage.in_chunks(partial(evaluate_chunk, plan), frames, by="document"))
    scores = _scores(plan, made, stage.params, stage.provenance(["judge"]))
    own = wide_scores(scores, human)
    nothing = nothing_to_judge(own, made["unscored"])
    by, claims = _by(stage.ask("judge").label), claims_of_references(made["doclens"])
    rows = agreement_rows(own, claims, JUDGED, nothing=nothing, **by)
    rows += await _recorded_rows(documents, human, scores, stage.params)
    found = made["unscored"]
    steps = found["step"] + found["system"].map(lambda name: f" of {name}" if isinstance(name, str) else "")
    failed = typed(found.rename(columns={"document": "record"}).assign(step=steps), UNSCORED)
    read = failed["reason"].str.contains(NOTHING)  # texts without a claim or fact, which were read
    stage.save_unscored("unscored_human_agreement", failed[~read], of=len(made["doclens"]), uncounted=failed[read])
    stage.save_metrics(STAGE, metric_table(rows, stage=STAGE))


async def judge_recorded(documents: Sequence[Document], ask: Ask, params: Params) -> Frames:
    """The tables of the recorded judge, who grades, on all summaries."""
    made = await evaluate_chunk(
        _graded_plan(documents), {"documents": documents_table(documents)}, lambda _: ask, _graded(params)
    )
    return in_order(made)


def _graded(params: Params) -> Params:
    return params.model_copy(update={"doclens": params.doclens.model_copy(update={"style": "graded"})})


def _graded_plan(documents: Sequence[Document]) -> Plan:
    return plan_of(Evaluate(data=SUMMARIES, metrics=["doclens", "grounding"]), DataSet(list(documents), "own", ()))


async def _recorded_rows(
    documents: Sequence[Document], human: pd.DataFrame, scores: pd.DataFrame, params: Params
) -> list[Row]:
    """Rows of the recorded judge on the dialogues that were not read for its prompts, and on those that were."""
    made = await judge_recorded(documents, recorded("mts_dialog"), params)
    judged = _scores(_graded_plan(documents), made, _graded(params), STRONG)
    together = wide_scores(pd.concat([judged, scores[scores["stage"] == "overlap"]]), human)
    nothing, claims = nothing_to_judge(together, made["unscored"]), claims_of_references(made["doclens"])
    was_read = together["document"].isin(READ).to_numpy()
    rows: list[Row] = []
    for name, chosen in (("dialogues not read", ~was_read), ("dialogues read", was_read)):
        part = {metric: empty[chosen] for metric, empty in nothing.items()}
        rows += agreement_rows(
            together[chosen].reset_index(drop=True), claims, JUDGED, nothing=part, **_by(f"{STRONG}, {name}")
        )
    return rows


def _scores(plan: Plan, made: Frames, params: Params, provenance: str) -> pd.DataFrame:
    return evaluation_tables(documents_of(made["documents"]), plan, made, params, provenance=provenance)[1]


def _by(judge: str) -> dict[str, Any]:
    return {"system": judge, "provenance": f"judge: {judge}"}
