"""Stage `span`: marks the symptom spans in both versions of the notes."""

import pandas as pd

from flows.engine.chunks import Frames
from flows.engine.span_chunk import span_chunk
from flows.engine.stage import Stage
from schemas.tables.metrics import REPRODUCTION_ROWS
from schemas.tables.network import records_schema
from schemas.tables.notes import ATTEMPTS, COMPACT_NOTES, NOTES, PROMPTS
from schemas.tables.spans import SPANS
from tasks.dataset.published import LABEL, read_spans
from tasks.domains.rules import load_rules
from tasks.llm.unscored import unscored_table
from tasks.network.definition import load_definition
from tasks.notes.filtering import spans_rows
from tasks.notes.prompting import known_values
from tasks.notes.reproduction import flagged_row
from tasks.reproduction.other_domain import SIMSUM, other_domain_rows
from tasks.spans.reproduction import statistics_rows
from tasks.spans.statistics import all_statistics


async def run(stage: Stage) -> None:
    """Write the spans, their statistics, and the comparison with Table 3."""
    definition = load_definition(stage.dep("network"))
    frames = {
        "records": stage.load("records", records_schema(definition)),
        "notes": stage.load("notes", NOTES),
        "compact_notes": stage.load("compact_notes", COMPACT_NOTES),
    }
    published = stage.params.write.source == "published"
    if published:
        spans = read_spans(stage.params.write.published, frames["notes"], frames["compact_notes"])
        done: Frames = {"spans": spans, "unscored": unscored_table([])}
        label, basis = LABEL, "exact"
    else:
        known = known_values(stage.load("prompts", PROMPTS, ["record", "kind", "avoid", "values"]))
        held = known["record"].isin(frames["notes"]["record"])
        done = await stage.in_chunks(span_chunk, {**frames, "records": known[held]})
        label = stage.ask("annotator").label
        roles = (stage.params.roles["writer"], stage.params.roles["annotator"])
        basis = "fitted" if any(role.is_embedded for role in roles) else "hosted"
    stage.save("spans", done["spans"], SPANS)
    stage.save_unscored("unscored_span", done["unscored"], of=len(done["spans"]) + len(done["unscored"]))
    metrics = all_statistics(
        done["spans"],
        frames["records"],
        {"normal": frames["notes"], "compact": frames["compact_notes"]},
        list(load_rules().symptoms),
        done["unscored"],
        seed=stage.params.seed,
        provenance=label,
    )
    attempts = stage.load("attempts", ATTEMPTS)
    regenerated = spans_rows(attempts, done["spans"], seed=stage.params.seed, provenance=label)
    stage.save_metrics("span_statistics", pd.concat([metrics, regenerated], ignore_index=True))
    if definition.source != SIMSUM:
        absent = other_domain_rows(["Table 3a", "Table 3b"], definition.name)
        stage.save("reproduction_spans", absent, REPRODUCTION_ROWS)
        return
    printed = pd.read_csv(stage.dep("simsum_table3a_spans")), pd.read_csv(stage.dep("simsum_table3b_mentions"))
    rows = [statistics_rows(metrics, *printed, basis), flagged_row(attempts, basis)]
    stage.save("reproduction_spans", pd.concat(rows, ignore_index=True), REPRODUCTION_ROWS)
