"""Stage `span_review`: a form for the manual evaluation of spans, and precision and recall by the returned forms."""

import pandas as pd

from flows.runtime.stage import Stage
from flows.runtime.tables import write_atomically
from tasks.domains.rules import rules_of
from tasks.people.span_form import (
    STAGE,
    SpanForm,
    assertion_rows,
    counts_by_note,
    draw_notes,
    published_rows,
    span_labels,
    symptom_rows,
)
from tasks.spans.statistics import ASSERTION_STEP, span_quality


async def run(stage: Stage) -> None:
    """Draw notes, write the form, and score the returned files; notes whose spans failed are left out."""
    seed, rules = stage.params.seed, rules_of(stage.params.domain)
    spans, unscored = stage.load("spans"), stage.load("unscored_span")
    failed = unscored.loc[unscored["step"] != ASSERTION_STEP, "record"]
    notes, compact = (
        frame[~frame["record"].astype(str).isin(failed)] for frame in (stage.load("notes"), stage.load("compact_notes"))
    )
    drawn = draw_notes(notes, compact, stage.params.span_review.notes, seed=seed)
    stage.save("span_review_notes", drawn)
    form = SpanForm(drawn, spans, rules.symptoms)
    html = form.filled(rules.labels, "clinician")
    write_atomically(stage.out("span_form"), lambda to: to.write_text(html, encoding="utf-8"))

    returned = stage.returned("spans_returned", form.id)
    counts = form.counts(returned)
    annotated_by = ", ".join(sorted(stage.load_metrics("span_statistics")["provenance"].unique()))
    both = notes.loc[notes["record"].isin(compact["record"]), "record"]
    stage.save("span_labels", span_labels(both, spans, counts, rules.symptoms, annotated_by))
    read_by = f"{annotated_by}; read by {counts['rater'].nunique()}"
    found = span_quality(counts_by_note(counts), seed=seed, system="annotator", provenance=read_by, stage=STAGE)
    published = published_rows(pd.read_csv(stage.dep("simsum_span_quality")))
    asserted = assertion_rows(form.assertions(returned), provenance=read_by)
    tables = [found, symptom_rows(counts, provenance=read_by), asserted, published]
    stage.save_metrics("span_review", pd.concat([table for table in tables if len(table)], ignore_index=True))
