"""Stages `overlap` and `own_metrics`: compact notes scored by overlap with notes, and by metrics of the user."""

from typing import Any

import pandas as pd

from flows.runtime.stage import Stage
from schemas.tables.columns import typed
from schemas.tables.metrics import SCORES
from tasks.llm.calls import unscored_row, unscored_table
from tasks.measures.doclens.documents import COMPACT, note_documents
from tasks.measures.doclens.judging import METRICS
from tasks.measures.measure import scores as scores_of
from tasks.measures.med_omit.judging import OMISSIONS
from tasks.measures.med_omit.reproduction import CORRELATED
from tasks.measures.overlap import (
    PRECISION,
    RECALL,
    agreement_rows,
    beside_claims,
    long_scores,
    overlap_rows,
    score_correlations,
    score_outputs,
)
from tasks.measures.own import load_metrics, score_own
from tasks.statistics.metric_rows import score_table

CONDITION = "against notes"


async def run_overlap(stage: Stage) -> None:
    """Score the notes that were judged, and correlate."""
    params, seed = stage.params.overlap, stage.params.seed
    judged = scores_of(stage.load("doclens_judged"), METRICS)
    known = set(judged["document"])
    documents = [one for one in note_documents(stage.load("notes"), stage.load("compact_notes")) if one.id in known]
    texts = {COMPACT: {one.id: one.outputs[COMPACT] for one in documents}}
    found, absent = score_outputs(texts, documents, params)
    scored = score_table(long_scores(found).rename(columns={"document": "record"}).assign(condition=CONDITION))
    stage.save("overlap_scores", scored)
    omissions = scores_of(stage.load("med_omit_judged"), OMISSIONS)
    together = beside_claims(found, pd.concat([judged, omissions], ignore_index=True))
    shared: dict[str, Any] = {"stage": "overlap", "seed": seed}
    computed = {**shared, "condition": COMPACT, "provenance": "computed"}
    rows = [
        overlap_rows(scored, absent, condition=CONDITION, of=COMPACT, **shared),
        agreement_rows(together, **computed),
        score_correlations(together, CORRELATED, [*RECALL, *PRECISION], **computed),
    ]
    stage.save_metrics("overlap", pd.concat(rows, ignore_index=True))


async def run_own_metrics(stage: Stage) -> None:
    """Score the compact notes that DocLens judged by each metric of the file, against their notes.

    A note without a score counts towards the allowed share of unscored rows where the metric asks the judge; where it
    only computes, it is undefined there.
    """
    judged = set(stage.load("doclens_judged")["document"])
    documents = [one for one in note_documents(stage.load("notes"), stage.load("compact_notes")) if one.id in judged]
    metrics = load_metrics([stage.dep("metrics")])
    of = {"stage": stage.name, "condition": CONDITION}
    found = await score_own(metrics, documents, [COMPACT], stage.ask("judge"), seed=stage.params.seed, **of)
    scores = [{**row, "record": int(row["document"])} for row in found.scores]
    stage.save("own_metrics_scores", score_table(typed(scores, SCORES)))
    asking = {one.name for one in metrics if one.asks}
    rows: dict[bool, list[dict[str, str | None]]] = {True: [], False: []}
    for row in found.unscored:
        rows[row["metric"] in asking].append(unscored_row(row["document"], row["metric"], row["reason"]))
    failed, undefined = unscored_table(rows[True]), unscored_table(rows[False])
    stage.save_unscored("unscored_own_metrics", failed, of=len(documents) * len(asking), uncounted=undefined)
    stage.save_metrics("own_metrics", found.metrics)
