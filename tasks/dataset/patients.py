"""Patients over time as part of the dataset: a row a visit, one parquet file a split, all visits of a patient in one.

The files are added to those of `tasks.dataset.export`: the card gains a section and a configuration for Hugging Face
datasets.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from io import BytesIO

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import yaml
from jinja2 import StrictUndefined, Template

SPLITS = ("train", "validation", "test")
HEAD = {
    "record": "the visit: 100 times the patient plus the number of the visit; unique",
    "patient": "the patient: 0, 1, 2, ...",
    "visit": "number of the visit: 1, 2, ...",
    "day": "days since the patient's first visit",
    "date": "ISO 8601; simulated",
}
NOTE = {
    "note": "the note of the visit, below a line with its number and date",
    "consistent": "whether the check found the note consistent with its record and the earlier visits",
    "provenance": "the model or rules that wrote the note",
}
_STREAM = 1401


@dataclass(frozen=True)
class VisitSplits:
    """The visits of each split, and the number of patients without a note of each visit, who are left out."""

    tables: Mapping[str, pd.DataFrame]
    left_out: int


def split_path(split: str) -> str:
    """The parquet file of a split's visits within the dataset."""
    return f"visits/{split}.parquet"


def visit_splits(
    visits: pd.DataFrame,
    dates: pd.Series,
    notes: pd.DataFrame,
    *,
    test_share: float,
    validation_share: float,
    seed: int,
) -> VisitSplits:
    """The rows of each split, sorted by patient and visit; a split without patients is left out.

    ``visits``: the table of visits, ``dates`` their ISO dates, ``notes``: VISIT_NOTES. The shares are of patients.
    """
    texts = notes[["record", "text", "consistent", "provenance"]].rename(columns={"text": "note"})
    merged = visits.assign(date=dates).merge(texts, on="record", how="left", validate="1:1")
    lacking = merged.groupby("patient")["note"].transform(lambda own: own.isna().any()).astype(bool)
    variables = [name for name in visits.columns if name not in HEAD]
    rows = merged.loc[~lacking, [*HEAD, *variables, *NOTE]].sort_values(["patient", "visit"])
    parts = split_patients(sorted(rows["patient"].unique().tolist()), test_share, validation_share, seed)
    tables = {name: rows[rows["patient"].isin(own)].reset_index(drop=True) for name, own in parts.items()}
    return VisitSplits(tables, int(merged.loc[lacking, "patient"].nunique()))


def split_patients(patients: list[int], test_share: float, validation_share: float, seed: int) -> dict[str, list[int]]:
    """Patients of each split at random, shares rounded; one at least is left to train on."""
    order = np.random.default_rng([seed, _STREAM]).permutation(patients).tolist()
    test = min(round(len(order) * test_share), max(len(order) - 1, 0))
    held = min(test + round(len(order) * validation_share), max(len(order) - 1, 0))
    parts = dict(zip(SPLITS, (order[held:], order[test:held], order[:test]), strict=True))
    return {name: sorted(own) for name, own in parts.items() if own}


def with_visits(dataset: Mapping[str, bytes], visits: VisitSplits) -> dict[str, bytes]:
    """The files of an exported dataset and the visits, described in its card.

    The checksums are left out: they are those of the files before.
    """
    kept = {name: contents for name, contents in dataset.items() if name != "SHA256SUMS"}
    if not visits.tables:
        return kept
    data = {split_path(name): _parquet(table) for name, table in visits.tables.items()}
    card = _card(dataset["README.md"].decode(), visits).encode()
    return {**kept, **data, "README.md": card}


def _parquet(table: pd.DataFrame) -> bytes:
    written = BytesIO()
    pq.write_table(
        pa.Table.from_pandas(table, preserve_index=False).replace_schema_metadata(), written, compression="zstd"
    )
    return written.getvalue()


def _card(card: str, visits: VisitSplits) -> str:
    """The card with a configuration in its front matter, and a section before its use and limits."""
    _, front, text = card.split("---\n", 2)
    entries = [{"split": split, "path": split_path(split)} for split in visits.tables]
    fields = yaml.safe_load(front)
    fields["configs"].append({"config_name": "visits", "data_files": entries})
    template = files("tasks.dataset").joinpath("templates", "visits_card.md").read_text(encoding="utf-8")
    counts = {name: {"patients": t["patient"].nunique(), "visits": len(t)} for name, t in visits.tables.items()}
    section = Template(template, trim_blocks=True, keep_trailing_newline=True, undefined=StrictUndefined).render(
        splits=counts,
        patients=sum(count["patients"] for count in counts.values()),
        visits=sum(count["visits"] for count in counts.values()),
        left_out=visits.left_out,
        path=split_path,
        columns={**HEAD, **NOTE},
    )
    before, heading, after = text.partition("\n## Use and limits\n")
    return f"---\n{yaml.safe_dump(fields, sort_keys=False)}---\n{before}{section}{heading}{after}"
