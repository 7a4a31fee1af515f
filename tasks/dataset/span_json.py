"""Reads and writes SimSUM's span files: a list of spans for each record, each with symptom, text, start and end."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from schemas.errors import SourceError
from schemas.tables.columns import typed
from schemas.tables.spans import SPANS
from tasks.dataset.layout import symptom_names
from tasks.text.sections import section_at

_KEYS = ("symptom", "text", "start", "end")


def span_json(spans: pd.DataFrame, version: str, records: list[int]) -> str:
    """The spans of one version of the notes of ``records``, as JSON with the record id as key."""
    held, names = spans[spans["version"] == version], symptom_names()
    listed: dict[str, list[dict[str, object]]] = {str(record): [] for record in sorted(records)}
    for row in held.to_dict("records"):
        if str(row["record"]) in listed:
            named = {"symptom": names[row["symptom"]], "text": row["text"], "start": row["start"], "end": row["end"]}
            listed[str(row["record"])].append(named)
    return json.dumps(listed, ensure_ascii=False, indent=1) + "\n"


def read_span_json(path: Path, version: str, notes: Mapping[int, str]) -> pd.DataFrame:
    """The spans of ``notes`` (record -> text) out of a span file, as rows of the spans table.

    A file is either an object by record id or a list in record order: a list with one entry per note follows the order
    of the notes, any other list has the ids 0, 1, ... A record without spans may be empty, null or absent. Raises
    SourceError naming file, record and span for anything else, and where the offsets do not match the text.
    """
    rows = [
        _row(path, version, record, number, span, notes[record])
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
    entries = loaded.items() if isinstance(loaded, dict) else _listed(loaded, records)
    found: dict[int, list[Any]] = {}
    for record, spans in entries:
        if not str(record).isdecimal() or not isinstance(spans, list | None):
            raise SourceError(f"{path}: record {record!r}: expected a record number and a list of spans")
        found[int(record)] = spans or []
    return found


def _listed(spans: list[Any], records: Sequence[int]) -> Iterable[tuple[int, Any]]:
    return zip(records, spans, strict=True) if len(spans) == len(records) else enumerate(spans)


def _row(path: Path, version: str, record: int, number: int, span: Any, note: str) -> dict[str, object]:
    where = f"{path}: record {record}, span {number}"
    if not isinstance(span, dict) or not all(key in span for key in _KEYS):
        raise SourceError(f"{where}: expected {', '.join(_KEYS)}; found {span!r}")
    symptoms = {name: symptom for symptom, name in symptom_names().items()}
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
    }
