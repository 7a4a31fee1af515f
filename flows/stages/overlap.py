"""Stages `overlap` and `own_metrics`: compact notes scored by overlap with notes, and by metrics of the user."""

from typing import Any

import pandas as pd

from flows.runtime.stage import Stage
from tasks.measures.doclens.documents import COMPACT, note_documents
from tasks.measures.doclens.judging import METRICS
from tasks.measures.measure import figures, record_scores
from tasks.measures.measure import scores as scores_of
from tasks.measures.overlap.scoring import METRICS as OF_OVERLAP
from tasks.measures.overlap.scoring import (
    PRECISION,
    RECALL,
    agreement_rows,
    beside_claims,
    overlap_rows,
    score_correlations,
    score_outputs,
    verdicts_of,
)
from tasks.measures.own import Own, load_metrics

CONDITION = "against notes"


async def run_overlap(stage: Stage) -> None:
    """Score the notes that were judged, and correlate, also with the scores of other measures that dvc.yaml lists."""
    params, seed = stage.params.overlap, stage.params.seed
    claims = stage.load("doclens_judged")
    judged, known = scores_of(claims, METRICS), set(claims["document"])
    documents = [one for one in note_documents(stage.load("notes"), stage.load("compact_notes")) if one.id in known]
    found, absent = score_outputs(documents, params)
    verdicts = verdicts_of(found, condition=CONDITION)
    stage.save("overlap_scores", record_scores(verdicts, OF_OVERLAP))
    others = [stage.load(stem) for stem in stage.files.deps if stem.endswith("_scores")]
    others = [one.assign(document=one["record"].astype(str)) for one in others]
    named = {name.rpartition("_")[2]: name for one in others for name in one["metric"].unique()}
    together = beside_claims(found, pd.concat([judged, *others], ignore_index=True))
    shared: dict[str, Any] = {"stage": "overlap", "seed": seed}
    computed = {**shared, "condition": COMPACT, "provenance": "computed"}
    rows = [
        overlap_rows(verdicts, absent, condition=CONDITION, of=COMPACT, **shared),
        agreement_rows(together, **computed),
        score_correlations(together, named, [*RECALL, *PRECISION], **computed),
    ]
    stage.save_metrics("overlap", pd.concat(rows, ignore_index=True))


async def run_own_metrics(stage: Stage) -> None:
    """Score the compact notes that DocLens judged by each metric of the file, against their notes.

    A note without a score counts towards the allowed share of unscored rows where the metric asks the judge; where it
    only computes, it is undefined there.
    """
    judged = set(stage.load("doclens_judged")["document"])
    documents = [one for one in note_documents(stage.load("notes"), stage.load("compact_notes")) if one.id in judged]
    measure = Own(load_metrics([stage.dep("metrics")]), [COMPACT], stage.name, CONDITION)
    found = await measure.judge(stage.ask, documents)
    stage.save("own_metrics_scores", record_scores(found["verdicts"], measure.metrics))
    asking = [f"{one.name} of {COMPACT}" for one in measure.functions if one.asks]
    failed = found["unscored"]["step"].isin(asking)
    undefined, failed = found["unscored"][~failed], found["unscored"][failed]
    stage.save_unscored("unscored_own_metrics", failed, of=len(documents) * len(asking), uncounted=undefined)
    about: dict[str, Any] = {"seed": stage.params.seed, "provenance": measure.made_by(stage.ask)}
    stage.save_metrics("own_metrics", figures(found["verdicts"], measure.metrics, stage=measure.name, **about))
