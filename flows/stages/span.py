"""Stage `span`: marks the symptom spans in both versions of the notes."""

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
from tasks.spans.statistics import all_statistics


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
    metrics = all_statistics(
        spans,
        frames["records"],
        {"normal": frames["notes"], "compact": frames["compact_notes"]},
        list(rules.symptoms),
        done["unscored"],
        seed=stage.params.seed,
        provenance=label,
    )
    attempts = stage.load("attempts")
    regenerated = spans_rows(attempts, spans, seed=stage.params.seed, provenance=label)
    tables = [metrics, regenerated]
    if not published:
        tables.append(assertion_statistics(spans, rules.absent_value, seed=stage.params.seed, provenance=label))
    stage.save_metrics("span_statistics", pd.concat(tables, ignore_index=True))


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
