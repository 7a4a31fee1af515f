"""Stage `overlap`: overlap metrics of compact notes with notes, and their agreement with the judged metrics."""

from typing import Any

import pandas as pd

from flows.runtime.stage import Stage
from tasks.measures.doclens.metrics import document_scores
from tasks.measures.doclens.notes import COMPACT, note_documents
from tasks.measures.med_omit.metrics import document_scores as omission_scores
from tasks.measures.overlap.tables import (
    PRECISION,
    RECALL,
    agreement_rows,
    beside_claims,
    long_scores,
    omission_correlations,
    overlap_rows,
    score_outputs,
)
from tasks.statistics.metric_rows import score_table

CONDITION = "against notes"


async def run(stage: Stage) -> None:
    """Score the notes that were judged, and correlate."""
    params, seed = stage.params.overlap, stage.params.seed
    judged = document_scores(stage.load("doclens_judged"))
    known = set(judged["document"])
    documents = [one for one in note_documents(stage.load("notes"), stage.load("compact_notes")) if one.id in known]
    texts = {COMPACT: {one.id: one.outputs[COMPACT] for one in documents}}
    found, absent = score_outputs(texts, {one.id: str(one.reference) for one in documents}, params)
    scored = score_table(long_scores(found).rename(columns={"document": "record"}).assign(condition=CONDITION))
    stage.save("overlap_scores", scored)
    omissions = omission_scores(stage.load("facts"), stage.load("omitted"))[["document", "system", "count", "weight"]]
    together = beside_claims(found, judged).merge(omissions, on=["document", "system"], how="left")
    shared: dict[str, Any] = {"stage": "overlap", "seed": seed}
    computed = {**shared, "condition": COMPACT, "provenance": "computed"}
    rows = [
        overlap_rows(scored, absent, condition=CONDITION, of=COMPACT, **shared),
        agreement_rows(together, **computed),
        omission_correlations(together, [*RECALL, *PRECISION], **computed),
    ]
    stage.save_metrics("overlap", pd.concat(rows, ignore_index=True))
