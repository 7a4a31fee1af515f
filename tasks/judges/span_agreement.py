"""Agreement of an annotator's symptom spans with the published spans of 50 notes.

Spans of one symptom pair one to one where the intersection over union of their characters is at least a half, so that
the most pairs are made. Tokens are (symptom, word) pairs, and symptoms are those with a span in the note.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.optimize import linear_sum_assignment

from schemas.errors import SourceError
from schemas.tables.columns import NOTE_VERSIONS
from tasks.statistics.metric_rows import Row, metric_table, ratio_row
from tasks.transport.untrusted import json_lines

REAL_NOTES = "simsum/real_notes_50.jsonl"
"""Their path in the sources folder."""
_KEYS = ("record", "normal", "normal_spans", "compact", "compact_spans")
_WORD = re.compile(r"\w+")


class SymptomSpan(NamedTuple):
    """A symptom annotated in characters ``start`` to ``end`` of a note."""

    symptom: str
    start: int
    end: int


class RealNote(NamedTuple):
    """A published note and its compact version, with the published spans of each ("normal", "compact")."""

    record: int
    text: Mapping[str, str]
    spans: Mapping[str, Sequence[SymptomSpan]]


def read_real_notes(file: Path) -> list[RealNote]:
    """The notes, one JSON object per line. Raises SourceError naming the line and its defect."""
    notes = []
    for number, line in json_lines(file):
        if missing := [key for key in _KEYS if key not in line]:
            raise SourceError(f"{file}: line {number}: keys {missing} are missing; found {sorted(line)}")
        listed = {version: line[f"{version}_spans"] or [] for version in NOTE_VERSIONS}  # null without spans
        for version, span in ((version, span) for version, own in listed.items() for span in own):
            if line[version][span["start"] : span["end"]] != span["text"]:
                place = f"{span['start']}-{span['end']} of {version}"
                raise SourceError(f"{file}: line {number}: span {span['text']!r} does not stand at {place}")
        spans = {name: [SymptomSpan(s["symptom"], s["start"], s["end"]) for s in own] for name, own in listed.items()}
        notes.append(RealNote(int(line["record"]), {name: line[name] for name in NOTE_VERSIONS}, spans))
    return notes


def hits(note: str, ours: Sequence[SymptomSpan], theirs: Sequence[SymptomSpan]) -> dict[str, tuple[int, int, int]]:
    """Hits, number of ours and of theirs in one note: pairs of spans, tokens and symptoms."""
    shared = np.array([[_overlap(a, b) for b in theirs] for a in ours]).reshape(len(ours), len(theirs))
    pairs = linear_sum_assignment(np.where(shared >= 0.5, 1 + 1e-6 * shared, 0), maximize=True)
    words = [match.span() for match in _WORD.finditer(note)]
    counted = {"spans": (int((shared[pairs] >= 0.5).sum()), len(ours), len(theirs))}
    for name, of in {
        "tokens": lambda spans: {(s.symptom, w) for s in spans for w in words if s.start < w[1] and w[0] < s.end},
        "symptoms": lambda spans: {s.symptom for s in spans},
    }.items():
        one, other = of(ours), of(theirs)
        counted[name] = (len(one & other), len(one), len(other))
    return counted


def _overlap(a: SymptomSpan, b: SymptomSpan) -> float:
    """Intersection over union of the characters; 0 for different symptoms."""
    joint = max(a.end, b.end) - min(a.start, b.start)
    return max(0, min(a.end, b.end) - max(a.start, b.start)) / joint if a.symptom == b.symptom and joint else 0.0


def agreement_rows(notes: Sequence[RealNote], spans: pd.DataFrame, **about: Any) -> pd.DataFrame:
    """METRICS f1, precision and recall of ``spans`` (SPANS, named as in the notes), by version and what is counted."""
    marked: dict[tuple[int, str], list[SymptomSpan]] = {}
    for one in spans.itertuples():
        marked.setdefault((one.record, one.version), []).append(SymptomSpan(one.symptom, one.start, one.end))
    rows = []
    for version in NOTE_VERSIONS:
        own = [(note.text[version], marked.get((note.record, version), []), note.spans[version]) for note in notes]
        found = [hits(*one) for one in own]
        for item in found[0]:
            hit, ours, theirs = np.array([one[item] for one in found]).T
            keys: Row = {"n": len(notes), "condition": version, "item": f"{item}, published notes"}
            parts = {"f1": (2 * hit, ours + theirs), "precision": (hit, ours), "recall": (hit, theirs)}
            rows += [ratio_row(metric, *of, **keys) for metric, of in parts.items()]
    return metric_table(rows, **about)
