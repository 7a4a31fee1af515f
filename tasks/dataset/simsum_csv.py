"""Reads and writes SimSUM.csv."""

import csv
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

import pandas as pd

from schemas.errors import SourceError
from tasks.dataset.layout import COMPACT, INDEX_NAMES, NOTE, layout, values_of

_LONGEST_CELL = 100_000_000  # characters; the default limit of csv refuses a note of 128 kB


@dataclass(frozen=True)
class Texts:
    """A published dataset: ``records`` (record, variables) and ``notes`` (record, note, compact)."""

    records: pd.DataFrame
    notes: pd.DataFrame


def read_simsum(path: Path) -> Texts:
    """Read a file in SimSUM.csv's layout.

    Accepts commas, semicolons and tabs as delimiters, and the column and value names of earlier releases. Raises
    SourceError naming file, row and column for missing columns, unknown values, duplicate ids and empty notes.
    """
    frame = _rename(path, _read(path))
    record = _ids(path, frame)
    variables = {name: _values(path, frame, name) for name in layout().columns}
    notes = {name: _texts(path, frame, name) for name in (NOTE, COMPACT)}
    return Texts(
        pd.DataFrame({"record": record, **variables}).sort_values("record", ignore_index=True),
        pd.DataFrame({"record": record, "note": notes[NOTE], "compact": notes[COMPACT]}).sort_values(
            "record", ignore_index=True
        ),
    )


def simsum_csv(records: pd.DataFrame, notes: pd.DataFrame, compact_notes: pd.DataFrame) -> str:
    """Records with both note versions in SimSUM.csv's layout, with the record id as first column."""
    joined = records.merge(notes[["record", "note"]], on="record").merge(
        compact_notes[["record", "compact"]], on="record"
    )
    named = joined.rename(columns={**layout().columns, "note": NOTE, "compact": COMPACT})
    ordered = named.sort_values("record")[["record", *layout().columns.values(), NOTE, COMPACT]]
    text: str = ordered.to_csv(index=False, lineterminator="\n")
    return text


def _read(path: Path) -> pd.DataFrame:
    try:
        source = path.read_bytes().decode("utf-8-sig")  # keeps line ends, as span offsets count characters
    except (OSError, UnicodeDecodeError) as error:
        raise SourceError(f"{path}: cannot be read ({error}); give the path of SimSUM.csv") from error
    csv.field_size_limit(_LONGEST_CELL)
    first = source.split("\n", 1)[0]
    delimiter = max(",;\t", key=first.count)
    try:
        rows = list(csv.reader(StringIO(source, newline=""), delimiter=delimiter, strict=True))
    except csv.Error as error:
        raise SourceError(f"{path}: not a CSV file: {error}") from error
    if not rows:
        raise SourceError(f"{path}: the file is empty")
    header = rows[0]
    if repeated := sorted({name for name in header if header.count(name) > 1}):
        raise SourceError(f"{path}: duplicate columns {repeated}")
    filled = [row for row in rows[1:] if row]
    for number, row in enumerate(filled, start=1):
        if len(row) != len(header):
            raise SourceError(f"{path}: row {number} has {len(row)} cells; the header has {len(header)}")
    return pd.DataFrame(filled, columns=header, dtype="str")


def _rename(path: Path, frame: pd.DataFrame) -> pd.DataFrame:
    for name, others in layout().other_names.items():
        found = [other for other in others if other in frame.columns]
        if name not in frame.columns and found:
            frame = frame.rename(columns={found[0]: name})
    if missing := [name for name in (*layout().columns.values(), NOTE, COMPACT) if name not in frame.columns]:
        raise SourceError(f"{path}: columns {missing} are missing; found {list(frame.columns)}")
    return frame


def _ids(path: Path, frame: pd.DataFrame) -> pd.Series:
    column = next((name for name in INDEX_NAMES if name in frame.columns), None)
    if column is None:
        return pd.Series(range(len(frame)), dtype="int64")
    ids = frame[column].str.strip()
    if not (good := ids.str.fullmatch(r"\d{1,18}")).all():
        raise _wrong(path, frame, ~good, column, "a record number")
    if (twice := ids.astype("int64").duplicated()).any():
        raise _wrong(path, frame, twice, column, "a unique id")
    return ids.astype("int64")


def _values(path: Path, frame: pd.DataFrame, name: str) -> pd.Series:
    column = layout().columns[name]
    values = frame[column].str.strip()
    if not values_of(name):
        if not (good := values.str.fullmatch(r"\d{1,9}(\.0+)?")).all():
            raise _wrong(path, frame, ~good, column, "a whole number of days")
        return values.astype(float).astype("int64")
    values = values.replace(layout().other_values.get(name, {}))
    if not (good := values.isin(values_of(name))).all():
        raise _wrong(path, frame, ~good, column, f"one of {', '.join(values_of(name))}")
    return values


def _texts(path: Path, frame: pd.DataFrame, column: str) -> pd.Series:
    if (empty := frame[column].str.strip() == "").any():
        raise _wrong(path, frame, empty, column, "a note")
    return frame[column]


def _wrong(path: Path, frame: pd.DataFrame, wrong: pd.Series, column: str, expected: str) -> SourceError:
    """The error for the first row of ``wrong``; rows are counted from 1 below the header."""
    row = int(wrong.to_numpy().argmax())
    more = f" ({int(wrong.sum())} such rows)" if wrong.sum() > 1 else ""
    return SourceError(
        f"{path}: row {row + 1}, column {column}: found {frame[column].iloc[row]!r}, expected {expected}{more}"
    )
