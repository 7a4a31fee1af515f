"""Stage `span_review`: a form for the manual evaluation of spans, and precision and recall by the returned forms."""

import pandas as pd

from flows.engine.stage import Stage
from flows.engine.tables import write_atomically
from schemas.tables.labels import HUMAN_LABELS
from schemas.tables.metrics import METRICS, UNSCORED
from schemas.tables.notes import COMPACT_NOTES, NOTES
from schemas.tables.span_review import SPAN_REVIEW_NOTES
from schemas.tables.spans import SPANS
from tasks.domains.rules import load_rules
from tasks.evaluation.span_review.form import draw_notes, form_id, render_span_form
from tasks.evaluation.span_review.labels import span_labels
from tasks.evaluation.span_review.metrics import STAGE, counts_by_note, published_rows, symptom_rows
from tasks.evaluation.span_review.returned import read_span_reviews
from tasks.spans.quality import span_quality


async def run(stage: Stage) -> None:
    """Draw notes, write the form, and score the returned files; notes whose spans failed are left out."""
    seed, rules = stage.params.seed, load_rules()
    spans, failed = stage.load("spans", SPANS), stage.load("unscored_span", UNSCORED)["record"]
    notes, compact = (
        frame[~frame["record"].astype(str).isin(failed)]
        for frame in (stage.load("notes", NOTES), stage.load("compact_notes", COMPACT_NOTES))
    )
    drawn = draw_notes(notes, compact, stage.params.span_review.notes, seed=seed)
    stage.save("span_review_notes", drawn, SPAN_REVIEW_NOTES)
    html = render_span_form(drawn, spans, rules.symptoms, rules.labels, "clinician")
    write_atomically(stage.out("span_form"), lambda to: to.write_text(html, encoding="utf-8"))

    files = stage.returned("spans_returned", form_id(drawn, spans))
    counts = read_span_reviews(files, drawn, spans, rules.symptoms)
    annotated_by = ", ".join(sorted(stage.load("span_statistics", METRICS)["provenance"].unique()))
    both = notes.loc[notes["record"].isin(compact["record"]), "record"]
    stage.save("span_labels", span_labels(both, spans, counts, rules.symptoms, annotated_by), HUMAN_LABELS)
    read_by = f"{annotated_by}; read by {counts['rater'].nunique()}"
    found = span_quality(counts_by_note(counts), seed=seed, system="annotator", provenance=read_by, stage=STAGE)
    published = published_rows(pd.read_csv(stage.dep("simsum_span_quality")))
    tables = [found, symptom_rows(counts, provenance=read_by), published]
    stage.save_metrics("span_review", pd.concat([table for table in tables if len(table)], ignore_index=True))
