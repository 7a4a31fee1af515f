"""The dataset as a table for Hugging Face datasets, one row per record."""

import json

import pandas as pd
import pyarrow as pa

from tasks.dataset.layout import layout, values_of
from tasks.domains.in_use import domain_cache

SPAN_FIELDS = ("symptom", "start", "end", "text", "section", "matched")
_SPANS = pa.list_(pa.struct([(name, pa.int64() if name in ("start", "end") else pa.string()) for name in SPAN_FIELDS]))


@domain_cache(maxsize=1)
def fields() -> dict[str, tuple[str, str]]:
    """Column -> (kind of value, description)."""
    return {
        "record": ("integer", "record id, unique"),
        **{name: (_kind(name), f"value of {name} in the simulated record") for name in layout().columns},
        "kind": ("text", "kind of prompt: symptoms, conditions, or unrelated (three notes a call)"),
        "prompt": ("text", "the request, as a prompt for this note alone"),
        "mention": ("texts", "symptoms that the prompt asked to mention, in its order"),
        "avoid": ("texts", "symptoms that the prompt asked to leave out, in its order"),
        "attempt": ("integer", "0 for a first note; 1, 2, ... for a note regenerated after the consistency check"),
        "consistent": ("boolean", "whether a check found the note consistent with its prompt"),
        "note": ("text", "the note"),
        "compact_note": ("text", "the same note in compact style"),
        "note_spans": ("spans", "spans of the note that mention a symptom as present or absent"),
        "compact_note_spans": ("spans", "the same for the compact note"),
        "provenance": ("text", "what wrote the note"),
        "compact_provenance": ("text", "what wrote the compact note"),
    }


def _kind(variable: str) -> str:
    return "text" if values_of(variable) else "integer"


_TYPES = {
    "integer": pa.int64(),
    "text": pa.string(),
    "texts": pa.list_(pa.string()),
    "boolean": pa.bool_(),
    "spans": _SPANS,
}


def split_path(split: str) -> str:
    """The parquet file of a split within the dataset."""
    return f"data/{split}.parquet"


def dataset_table(
    records: pd.DataFrame, prompts: pd.DataFrame, notes: pd.DataFrame, compact_notes: pd.DataFrame, spans: pd.DataFrame
) -> pa.Table:
    """The table of all records with both note versions, sorted by record."""
    compact = compact_notes.rename(columns={"provenance": "compact_provenance"})
    joined = records.merge(notes, on="record").merge(compact, on="record")
    asked = prompts[["record", "kind", "single_prompt", "mention", "avoid"]]
    joined = joined.merge(asked, on="record").sort_values("record")
    listed = {version: _listed(spans[spans["version"] == version]) for version in ("normal", "compact")}
    columns = {
        **{name: joined[name].tolist() for name in fields() if name in joined},
        "prompt": joined["single_prompt"].tolist(),
        "mention": [json.loads(names) for names in joined["mention"]],
        "avoid": [json.loads(names) for names in joined["avoid"]],
        "compact_note": joined["compact"].tolist(),
        "note_spans": [listed["normal"].get(record, []) for record in joined["record"].tolist()],
        "compact_note_spans": [listed["compact"].get(record, []) for record in joined["record"].tolist()],
    }
    schema = pa.schema([(name, _TYPES[kind]) for name, (kind, _) in fields().items()])
    return pa.table({name: columns[name] for name in schema.names}, schema=schema)


def _listed(spans: pd.DataFrame) -> dict[int, list[dict[str, object]]]:
    listed: dict[int, list[dict[str, object]]] = {}
    for row in spans.to_dict("records"):
        listed.setdefault(row["record"], []).append({name: row[name] for name in SPAN_FIELDS})
    return listed
