"""Reads and writes files in SimSUM's layout, with the column and value names of the domain in use.

These are SimSUM.csv, and span files: a list of spans for each record, each with symptom, text, start and end. A
published dataset may be read in place of generated records, notes and spans.
"""

import csv
import hashlib
import json
from collections.abc import Mapping, Sequence
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pydantic import Field
from sklearn.model_selection import train_test_split

from schemas.errors import SourceError, repeated
from schemas.params.base import Section
from schemas.params.records import Published
from schemas.tables.columns import typed
from schemas.tables.records import SPANS
from tasks.domains.in_use import data_of, domain_cache
from tasks.domains.rules import rules_of
from tasks.text.sections import section_at

NOTE, COMPACT = "text", "advanced_text"
INDEX_NAMES = ("record", "", "Unnamed: 0", "index", "id")
"""Columns that may hold the record ids; without any of them records are numbered in order."""


class Layout(Section):
    """The content of ``dataset.yaml``."""

    columns: dict[str, str]
    """Column of SimSUM.csv by variable."""
    meanings: dict[str, str] = Field(default_factory=dict)
    """Meaning of a variable, for the dataset's card."""
    other_names: dict[str, list[str]] = Field(default_factory=dict)
    """Names of a column in other releases."""
    other_values: dict[str, dict[str, str]] = Field(default_factory=dict)
    """Our value by that of other releases, by variable."""


@domain_cache(maxsize=4)
def layout_of(domain: str) -> Layout:
    """The layout of a domain, from its ``dataset.yaml``."""
    return Layout.model_validate(data_of(domain, "dataset"))


def values_of(domain: str, variable: str) -> tuple[str, ...]:
    """The values of a variable; empty for a count."""
    values = data_of(domain, "network")["variables"][variable]["values"]
    return () if values == "count" else tuple(values)


_LONGEST_CELL = 100_000_000  # characters; the default limit of csv refuses a note of 128 kB


def read_simsum(path: Path, domain: str) -> pd.DataFrame:
    """A file in SimSUM.csv's layout, sorted by record: record, the variables of ``domain``, note and compact.

    Accepts commas, semicolons and tabs as delimiters, and the column and value names of earlier releases. Raises
    SourceError naming file, row and column for missing columns, unknown values, duplicate ids and empty notes.
    """
    layout, frame = layout_of(domain), _read(path)
    for name, others in layout.other_names.items():
        found = [other for other in others if other in frame.columns]
        if name not in frame.columns and found:
            frame = frame.rename(columns={found[0]: name})
    if missing := [name for name in (*layout.columns.values(), NOTE, COMPACT) if name not in frame.columns]:
        raise SourceError(f"{path}: columns {missing} are missing; found {list(frame.columns)}")
    record = _ids(path, frame)
    variables = {name: _values(path, frame, name, domain) for name in layout.columns}
    for column in (NOTE, COMPACT):
        _require(path, frame, frame[column].str.strip() != "", column, "a note")
    texts = {"note": frame[NOTE], "compact": frame[COMPACT]}
    return pd.DataFrame({"record": record, **variables, **texts}).sort_values("record", ignore_index=True)


def simsum_csv(records: pd.DataFrame, notes: pd.DataFrame, compact_notes: pd.DataFrame, domain: str) -> str:
    """Records with both note versions in SimSUM.csv's layout, with the record id as first column."""
    joined = records.merge(notes[["record", "note"]], on="record").merge(
        compact_notes[["record", "compact"]], on="record"
    )
    columns = layout_of(domain).columns
    named = joined.rename(columns={**columns, "note": NOTE, "compact": COMPACT})
    ordered = named.sort_values("record")[["record", *columns.values(), NOTE, COMPACT]]
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
    if (twice := repeated(header)) is not None:
        raise SourceError(f"{path}: duplicate column {twice!r}")
    filled = [row for row in rows[1:] if row]
    for number, row in enumerate(filled, start=1):
        if len(row) != len(header):
            raise SourceError(f"{path}: row {number} has {len(row)} cells; the header has {len(header)}")
    return pd.DataFrame(filled, columns=header, dtype="str")


def _ids(path: Path, frame: pd.DataFrame) -> pd.Series:
    column = next((name for name in INDEX_NAMES if name in frame.columns), None)
    if column is None:
        return pd.Series(range(len(frame)), dtype="int64")
    ids = frame[column].str.strip()
    _require(path, frame, ids.str.fullmatch(r"\d{1,18}"), column, "a record number")
    _require(path, frame, ~ids.astype("int64").duplicated(), column, "a unique id")
    return ids.astype("int64")


def _values(path: Path, frame: pd.DataFrame, name: str, domain: str) -> pd.Series:
    layout, allowed = layout_of(domain), values_of(domain, name)
    column = layout.columns[name]
    values = frame[column].str.strip()
    if not allowed:
        _require(path, frame, values.str.fullmatch(r"\d{1,9}(\.0+)?"), column, "a whole number of days")
        return values.astype(float).astype("int64")
    values = values.replace(layout.other_values.get(name, {}))
    _require(path, frame, values.isin(allowed), column, f"one of {', '.join(allowed)}")
    return values


def _require(path: Path, frame: pd.DataFrame, good: pd.Series, column: str, expected: str) -> None:
    """Raise SourceError for the first row that is not ``good``; rows are counted from 1 below the header."""
    if good.all():
        return
    row, times = int(good.to_numpy().argmin()), int((~good).sum())
    more = f" ({times} such rows)" if times > 1 else ""
    raise SourceError(
        f"{path}: row {row + 1}, column {column}: found {frame[column].iloc[row]!r}, expected {expected}{more}"
    )


_KEYS = ("symptom", "text", "start", "end")


def span_json(spans: pd.DataFrame, version: str, records: list[int], domain: str) -> str:
    """The spans of one version of the notes of ``records``, as JSON with the record id as key."""
    held, names = spans[spans["version"] == version], rules_of(domain).symptom_labels
    listed: dict[str, list[dict[str, object]]] = {str(record): [] for record in sorted(records)}
    for row in held.to_dict("records"):
        if str(row["record"]) in listed:
            named = {"symptom": names[row["symptom"]], "text": row["text"], "start": row["start"], "end": row["end"]}
            listed[str(row["record"])].append(named)
    return json.dumps(listed, ensure_ascii=False, indent=1) + "\n"


def read_span_json(path: Path, version: str, notes: Mapping[int, str], domain: str) -> pd.DataFrame:
    """The spans of ``notes`` (record -> text) of a domain out of a span file, as rows of the spans table.

    A file is either an object by record id or a list in record order: a list with one entry per note follows the order
    of the notes, any other list has the ids 0, 1, ... A record without spans may be empty, null or absent. Raises
    SourceError naming file, record and span for anything else, and where the offsets do not match the text.
    """
    symptoms = {name: symptom for symptom, name in rules_of(domain).symptom_labels.items()}
    rows = [
        _row(path, version, record, number, span, notes[record], symptoms)
        for record, spans in sorted(_by_record(path, sorted(notes)).items())
        if record in notes
        for number, span in enumerate(spans)
    ]
    return typed(rows, SPANS)


def _by_record(path: Path, records: Sequence[int]) -> dict[int, list[Any]]:
    try:
        loaded = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise SourceError(f"{path}: not a readable JSON file ({error})") from error
    if not isinstance(loaded, dict | list):
        raise SourceError(f"{path}: expected spans by record, found {type(loaded).__name__}")
    if isinstance(loaded, list) and len(loaded) != len(records) and len(loaded) <= max(records, default=-1):
        raise SourceError(
            f"{path}: a list of {len(loaded)} records cannot be matched to {len(records)} notes with ids up to "
            f"{max(records)}; give an object with record ids as keys"
        )
    in_order = zip(records, loaded, strict=False) if len(loaded) == len(records) else enumerate(loaded)
    entries = loaded.items() if isinstance(loaded, dict) else in_order
    found: dict[int, list[Any]] = {}
    for record, spans in entries:
        if not str(record).isdecimal() or not isinstance(spans, list | None):
            raise SourceError(f"{path}: record {record!r}: expected a record number and a list of spans")
        found[int(record)] = spans or []
    return found


def _row(
    path: Path, version: str, record: int, number: int, span: Any, note: str, symptoms: Mapping[str, str]
) -> dict[str, object]:
    where = f"{path}: record {record}, span {number}"
    if not isinstance(span, dict) or not all(key in span for key in _KEYS):
        raise SourceError(f"{where}: expected {', '.join(_KEYS)}; found {span!r}")
    if span["symptom"] not in symptoms:
        raise SourceError(f"{where}: unknown symptom {span['symptom']!r}; expected one of {', '.join(symptoms)}")
    start, end = span["start"], span["end"]
    if not (type(start) is int and type(end) is int and 0 <= start < end <= len(note)):
        raise SourceError(f"{where}: invalid offsets {start!r} to {end!r} in a note of {len(note)} characters")
    if note[start:end] != span["text"]:
        raise SourceError(f"{where}: the note has {note[start:end]!r} from {start} to {end}, not {span['text']!r}")
    return {
        "record": record,
        "version": version,
        "symptom": symptoms[span["symptom"]],
        "start": start,
        "end": end,
        "text": span["text"],
        "section": section_at(note, start),
        "matched": "published",
        "assertion": None,
        "record_value": None,
    }


LABEL = "published"
"""Provenance of texts and spans read from a published dataset."""


def read_texts(published: Published, domain: str) -> pd.DataFrame:
    """The published files (`read_simsum`); raises SourceError unless they match the digest in params."""
    require_pinned(published)
    return read_simsum(_path(published.notes, "notes"), domain)


def read_spans(published: Published, notes: pd.DataFrame, compact_notes: pd.DataFrame, domain: str) -> pd.DataFrame:
    """Spans of both note versions as SPANS."""
    require_pinned(published)
    versions = {
        "normal": (published.normal_spans, notes, "note"),
        "compact": (published.compact_spans, compact_notes, "compact"),
    }
    parts = []
    for version, (path, frame, column) in versions.items():
        texts = dict(zip(frame["record"].tolist(), frame[column], strict=True))
        parts.append(read_span_json(_path(path, f"{version}_spans"), version, texts, domain))
    order = ["record", "version", "start", "end", "symptom"]
    return pd.concat(parts, ignore_index=True).sort_values(order, ignore_index=True)


def read_released(files: Mapping[str, Path], domain: str) -> tuple[pd.DataFrame, dict[str, pd.DataFrame], pd.DataFrame]:
    """Records, notes by version, and SPANS of the release: ``files`` are its ``notes``, and its spans by version."""
    texts = read_simsum(files["notes"], domain)
    notes = {"normal": texts[["record", "note"]], "compact": texts[["record", "compact"]]}
    spans = [
        read_span_json(files[version], version, dict(frame.itertuples(index=False, name=None)), domain)
        for version, frame in notes.items()
    ]
    return texts.drop(columns=["note", "compact"]), notes, pd.concat(spans, ignore_index=True)


def released_split(records: pd.Series) -> pd.DataFrame:
    """SPLIT of the released code: a fifth of the records in the file's order is for testing, with its seed."""
    ordered = np.sort(records.to_numpy())
    _, test = train_test_split(ordered, test_size=0.2, random_state=2024)
    return pd.DataFrame({"record": ordered, "part": np.where(np.isin(ordered, test), "test", "train")})


def require_pinned(published: Published) -> None:
    """Raise SourceError unless ``write.published.sha256`` is the digest of the files' contents.

    DVC does not track files outside the repository: the digest in params.yaml makes a change of them visible.
    """
    digest = hashlib.sha256()
    for name in ("notes", "normal_spans", "compact_spans"):
        if (given := getattr(published, name)) is not None:
            path = _path(given, name)
            try:
                digest.update(hashlib.sha256(path.read_bytes()).digest())
            except OSError as error:
                raise SourceError(f"write.published.{name}: {path} cannot be read ({error.strerror})") from error
    if published.sha256 != digest.hexdigest():
        raise SourceError(
            f"write.published.sha256 is {published.sha256}, the files' digest is {digest.hexdigest()}; "
            "set it in params.yaml if these are the files you mean"
        )


def _path(given: str | None, name: str) -> Path:
    if given is None:
        raise SourceError(f"write.source is published but write.published.{name} is null; give the file's path")
    return Path(given).expanduser()
