"""Stages `span_quality`, SimSUM's manual evaluation of spans, and `span_review`, the same on spans of this run."""

from pathlib import Path

import pandas as pd

from flows.runtime.stage import Stage
from schemas.params import Params
from tasks.domains.rules import rules_of
from tasks.judges.span_agreement import REAL_NOTES, RealNote, agreement_rows, read_real_notes
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
from tasks.spans.annotation import annotate_spans
from tasks.spans.statistics import ASSERTION_STEP, COUNTS_FILE, read_counts, span_quality


def reads_span_quality(_: Params) -> list[str]:
    """The files of outside data that the stage reads."""
    return [COUNTS_FILE, REAL_NOTES]


async def run_span_quality(stage: Stage) -> None:
    """Write the metrics, and the annotator's agreement with published spans.

    Without the evaluation in the sources folder there are no metrics; without the notes there is no agreement.
    """
    counts = read_counts(stage.sources)
    metrics = span_quality(counts, seed=stage.params.seed, system="SimSUM", provenance="published manual evaluation")
    file = (stage.sources or Path()) / REAL_NOTES
    tables = [metrics, await _agreement(stage, read_real_notes(file))] if file.exists() else [metrics]
    stage.save_metrics("span_quality", pd.concat(tables, ignore_index=True))


async def _agreement(stage: Stage, notes: list[RealNote]) -> pd.DataFrame:
    """The annotator's spans, by the steps of the main pipeline, against the published ones.

    The prompts contain no patient data, as the records are unknown.
    """
    rules, ask = rules_of(stage.params.domain), stage.ask("annotator")
    records = pd.DataFrame([{"record": note.record, **dict.fromkeys(rules.symptoms, "unknown")} for note in notes])
    normal = pd.DataFrame([{"record": note.record, "note": note.text["normal"]} for note in notes])
    compact = pd.DataFrame([{"record": note.record, "compact": note.text["compact"]} for note in notes])
    corrections = stage.params.span.max_corrections
    spans, unscored = await annotate_spans(records, normal, compact, rules, ask, max_corrections=corrections)
    spans = spans.assign(symptom=spans["symptom"].map(rules.labels))
    about = {"stage": stage.name, "system": "annotator", "provenance": stage.provenance(["annotator"])}
    return agreement_rows(notes, spans, **about, seed=stage.params.seed, unscored=len(unscored))


async def run_span_review(stage: Stage) -> None:
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
    stage.save_text("span_form", html)

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
