"""Reads published notes with spans from the sources folder, if the user has them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from schemas.errors import SourceError

REAL_NOTES = "simsum/real_notes_50.jsonl"
"""Their path in the sources folder."""
_KEYS = ("record", "normal", "normal_spans", "compact", "compact_spans")


@dataclass(frozen=True)
class SymptomSpan:
    """A symptom annotated in characters ``start`` to ``end`` of a note."""

    symptom: str
    start: int
    end: int


@dataclass(frozen=True)
class RealNote:
    """A published note, its compact version, and the published spans of each ("normal", "compact")."""

    record: int
    text: Mapping[str, str]
    spans: Mapping[str, tuple[SymptomSpan, ...]]


def real_notes_file(folder: Path | None) -> Path | None:
    """REAL_NOTES in the sources folder, or None if it does not exist."""
    file = folder / REAL_NOTES if folder else None
    return file if file is not None and file.exists() else None


def read_real_notes(file: Path) -> list[RealNote]:
    """Read the notes, one JSON object per line.

    Raises SourceError naming the line if it is not JSON, lacks a key, or has a span outside its note.
    """
    notes = []
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1):
        try:
            loaded = json.loads(line)
        except json.JSONDecodeError as error:
            raise SourceError(f"{file}, line {number}: not a JSON object ({error}); get the file anew") from error
        if missing := [key for key in _KEYS if key not in loaded]:
            raise SourceError(f"{file}, line {number}: keys {missing} are missing; found {sorted(loaded)}")
        notes.append(_note(loaded, f"{file}, line {number}"))
    return notes


def _note(loaded: dict[str, Any], where: str) -> RealNote:
    spans = {}
    for version in ("normal", "compact"):
        listed = loaded[f"{version}_spans"] or []  # null if the publishers found none
        for span in listed:
            if loaded[version][span["start"] : span["end"]] != span["text"]:
                raise SourceError(f"{where}: span {span['text']!r} does not stand at {span['start']}-{span['end']}")
        spans[version] = tuple(SymptomSpan(s["symptom"], s["start"], s["end"]) for s in listed)
    return RealNote(int(loaded["record"]), {v: loaded[v] for v in ("normal", "compact")}, spans)
