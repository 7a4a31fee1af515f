"""The dataset as a table for Hugging Face datasets, one row per record, and the meaning of its columns."""

import json
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from schemas.errors import SourceError
from tasks.dataset.simsum import layout_of, values_of
from tasks.domains.in_use import data_of, domain_cache, domain_names

SPAN_FIELDS = ("symptom", "start", "end", "text", "section", "matched", "assertion", "record_value")
_SPANS = pa.list_(pa.struct([(name, pa.int64() if name in ("start", "end") else pa.string()) for name in SPAN_FIELDS]))
NOTE = {"normal": "note", "compact": "compact_note"}
"""The column with the text of each version; its spans are in the column with ``_spans`` added."""
VISIT_HEAD = {
    "record": "the visit: 100 times the patient plus the number of the visit; unique",
    "patient": "the patient: 0, 1, 2, ...",
    "visit": "number of the visit: 1, 2, ...",
    "day": "days since the patient's first visit",
    "date": "ISO 8601; simulated",
}
VISIT_NOTE = {
    "note": "the note of the visit, below a line with its number and date",
    "consistent": "whether the check found the note consistent with its record and the earlier visits",
    "provenance": "the model or rules that wrote the note",
}
"""Columns of the visits before and after the variables, with their meaning."""
_TYPES = {
    "integer": pa.int64(),
    "text": pa.string(),
    "texts": pa.list_(pa.string()),
    "boolean": pa.bool_(),
    "spans": _SPANS,
}


@dataclass(frozen=True)
class Column:
    """Kind of a column's values, its meaning, the values that it takes (if they are few) and what makes them."""

    kind: str
    meaning: str
    source: str
    values: str = ""


@domain_cache(maxsize=4)
def columns_of(domain: str) -> dict[str, Column]:
    """Every column by name, in order; the record's variables have their meanings from the domain."""
    text = files("tasks.dataset").joinpath("templates", "columns.yaml").read_text(encoding="utf-8")
    record, *others = [(name, Column(**entry)) for name, entry in yaml.safe_load(text).items()]
    found = dict([record])
    for name in layout_of(domain).columns:
        values, kind = values_of(domain, name), data_of(domain, "network")["variables"][name]["type"]
        meaning = f"{kind}: {layout_of(domain).meanings.get(name, name.replace('_', ' '))}"
        shown = ", ".join(values) or "0, 1, 2, ..."
        found[name] = Column("text" if values else "integer", meaning, "sampling from the network", shown)
    return found | dict(others)


def split_path(split: str) -> str:
    """The parquet file of a split within the dataset."""
    return f"data/{split}.parquet"


def visits_path(split: str) -> str:
    """The parquet file of a split's visits within the dataset."""
    return f"visits/{split}.parquet"


def dataset_table(
    records: pd.DataFrame,
    prompts: pd.DataFrame,
    notes: pd.DataFrame,
    compact_notes: pd.DataFrame,
    spans: pd.DataFrame,
    domain: str,
) -> pa.Table:
    """The table of all records with both note versions, sorted by record."""
    renamed = {"provenance": "compact_provenance", "compact": "compact_note"}
    asked = prompts[["record", "kind", "single_prompt", "mention", "avoid"]].rename(columns={"single_prompt": "prompt"})
    joined = records.merge(notes, on="record").merge(compact_notes.rename(columns=renamed), on="record")
    joined = joined.merge(asked, on="record").sort_values("record")
    for name in ("mention", "avoid"):
        joined[name] = joined[name].map(json.loads)
    for version, name in NOTE.items():
        listed = _listed(spans[spans["version"] == version])
        joined[f"{name}_spans"] = [listed.get(record, []) for record in joined["record"].tolist()]
    schema = _schema(domain)
    return pa.table({name: joined[name].tolist() for name in schema.names}, schema=schema)


def _schema(domain: str) -> pa.Schema:
    return pa.schema([(name, _TYPES[column.kind]) for name, column in columns_of(domain).items()])


def _listed(spans: pd.DataFrame) -> dict[int, list[dict[str, object]]]:
    listed: dict[int, list[dict[str, object]]] = {}
    for row in spans.to_dict("records"):
        fields = {name: None if pd.isna(row[name]) else row[name] for name in SPAN_FIELDS}
        listed.setdefault(row["record"], []).append(fields)
    return listed


def read_dataset(folder: Path) -> pa.Table:
    """The table of an exported dataset, all splits sorted by record. Raises SourceError for another folder."""
    files = sorted(folder.glob(split_path("*")))
    if not files:
        raise SourceError(
            f"{folder}: no {split_path('*')}; expected the folder of an exported dataset, such as data/export/dataset"
        )
    try:
        table = pa.concat_tables([pq.read_table(file) for file in files])
        domains = [name for name in domain_names() if list(columns_of(name)) == table.schema.names]
        if domains:
            return table.cast(_schema(domains[0])).sort_by("record")
    except (pa.ArrowException, OSError, ValueError, KeyError) as error:
        said = " ".join(str(error).split())[:120]
        raise SourceError(f"{folder}: cannot be read as an exported dataset ({said})") from error
    raise SourceError(
        f"{folder}: columns {', '.join(table.schema.names)} are those of no domain ({', '.join(domain_names())})"
    )
