"""Stage `span`: marks the symptom spans in both versions of the notes."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from flows.runtime.chunks import Frames
from flows.runtime.stage import Stage
from schemas.params import Params
from tasks.dataset.simsum import LABEL, read_spans
from tasks.domains.rules import rules_of
from tasks.llm.calls import Asks, unscored_table
from tasks.notes.consistency import spans_rows
from tasks.notes.prompting import symptom_values
from tasks.spans.annotation import annotate_spans
from tasks.spans.assertion import add_record_values, assertion_statistics, state_assertions
from tasks.spans.statistics import ASSERTION_STEP, all_statistics


async def run(stage: Stage) -> None:
    """Write the spans and their statistics."""
    frames = {
        "records": stage.load("records"),
        "notes": stage.load("notes"),
        "compact_notes": stage.load("compact_notes"),
    }
    published = stage.params.write.source == "published"
    if published:
        spans = read_spans(stage.params.write.published, frames["notes"], frames["compact_notes"], stage.params.domain)
        done: Frames = {"spans": spans, "unscored": unscored_table([])}
        label = LABEL
    else:
        values = symptom_values(stage.load("prompts", ["record", "values"]))
        held = values["record"].isin(frames["notes"]["record"])
        done = await stage.in_chunks(span_chunk, {**frames, "records": values[held]})
        label = stage.ask("annotator").label
    rules = rules_of(stage.params.domain)
    spans = add_record_values(done["spans"], frames["records"], rules.symptoms)
    stage.save("spans", spans)
    stage.save_unscored("unscored_span", done["unscored"], of=len(spans) + len(done["unscored"]))
    versions = {"normal": frames["notes"], "compact": frames["compact_notes"]}
    lost = _lost_notes(done["unscored"], versions)
    of_normal = lost.loc[lost["step"] == "normal", "record"]
    for version, notes in versions.items():
        versions[version] = notes[~notes["record"].isin(lost.loc[lost["step"] == version, "record"])]
    about: dict[str, Any] = {"seed": stage.params.seed, "provenance": label}
    metrics = all_statistics(spans, frames["records"], versions, list(rules.symptoms), lost, **about)
    regenerated = spans_rows(stage.load("attempts"), spans, {*of_normal}, **about)
    tables = [metrics, regenerated]
    if not published:
        tables.append(assertion_statistics(spans, rules.absent_value, seed=stage.params.seed, provenance=label))
    stage.save_metrics("span_statistics", pd.concat(tables, ignore_index=True))


def _lost_notes(unscored: pd.DataFrame, versions: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Record and version (step) of each note whose spans are not all known: they would count as too few.

    The spans of a compact note are found by those of its note, and are not all known where these are not.
    """
    failed = unscored[unscored["step"] != ASSERTION_STEP]
    of = {"normal": failed[failed["step"].isin(("extract", "normal"))], "compact": failed}
    parts = [
        notes.loc[notes["record"].astype("str").isin(of[version]["record"]), ["record"]].assign(step=version)
        for version, notes in versions.items()
    ]
    return pd.concat(parts, ignore_index=True)


async def span_chunk(frames: Frames, ask: Asks, params: Params) -> Frames:
    """Spans of both versions of one chunk of notes, with what they assert."""
    rules, annotator = rules_of(params.domain), ask("annotator")
    spans, unscored = await annotate_spans(
        frames["records"],
        frames["notes"],
        frames["compact_notes"],
        rules,
        annotator,
        max_corrections=params.span.max_corrections,
    )
    notes, compact = frames["notes"], frames["compact_notes"]
    texts = {
        "normal": dict(zip(notes["record"].tolist(), notes["note"], strict=True)),
        "compact": dict(zip(compact["record"].tolist(), compact["compact"], strict=True)),
    }
    spans, failures = await state_assertions(spans, texts, rules.symptom_labels, annotator)
    return {"spans": spans, "unscored": pd.concat([unscored, unscored_table(failures)], ignore_index=True)}
