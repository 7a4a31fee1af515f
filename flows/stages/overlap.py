"""Stage `overlap`: overlap metrics of compact notes with notes, and their agreement with the judged metrics."""

import pandas as pd

from flows.engine.stage import Stage
from schemas.tables.evaluation import FACTS, JUDGED, OMITTED
from schemas.tables.metrics import SCORES
from schemas.tables.notes import COMPACT_NOTES, NOTES
from tasks.evaluation.doclens.metrics import document_scores
from tasks.evaluation.med_omit.metrics import document_scores as omission_scores
from tasks.evaluation.overlap.metric_agreement import agreement_rows, omission_correlations
from tasks.evaluation.overlap.tables import PRECISION, RECALL, beside_judged, overlap_rows, score_compact_notes


async def run(stage: Stage) -> None:
    """Score the notes that were judged, and correlate."""
    params, seed = stage.params.overlap, stage.params.seed
    judged = document_scores(stage.load("doclens_judged", JUDGED))
    notes, compact = stage.load("notes", NOTES), stage.load("compact_notes", COMPACT_NOTES)
    scored, absent = score_compact_notes(notes, compact, set(judged["document"]), params)
    omissions = omission_scores(stage.load("facts", FACTS), stage.load("omitted", OMITTED))
    together = beside_judged(scored, judged, omissions)
    stage.save("overlap_scores", scored, SCORES)
    how = "compact notes"
    rows = [
        overlap_rows(scored, absent, seed=seed),
        agreement_rows(
            together, stage="overlap", condition=how, seed=seed, provenance="computed", groups=[RECALL, PRECISION]
        ),
        omission_correlations(
            together, [*RECALL, *PRECISION], stage="overlap", condition=how, seed=seed, provenance="computed"
        ),
    ]
    stage.save_metrics("overlap", pd.concat(rows, ignore_index=True))
