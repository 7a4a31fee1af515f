"""Agreement of symptom spans with published ones, to measure an annotator on published notes.

Spans are matched one to one: a predicted and a reference span of the same symptom can be paired if the intersection
over union of their characters reaches a threshold, and the pairing with the most pairs is used. Token overlap is the F1
of (symptom, token) pairs, symptom-in-note F1 that of (note, symptom, present or absent) triples.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import linear_sum_assignment

from schemas.errors import SourceError
from schemas.tables.columns import NOTE_VERSIONS
from tasks.judges.changes import pattern, words
from tasks.simulator.annotator.spans import SpanSettings, find_spans
from tasks.statistics.metric_rows import COMPUTED, NAN, metric_row, metric_table, ratio_row
from tasks.text.sentences import sentence_spans
from tasks.transport.json_lines import json_lines

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
    for number, loaded in json_lines(file):
        where = f"{file}: line {number}"
        if missing := [key for key in _KEYS if key not in loaded]:
            raise SourceError(f"{where}: keys {missing} are missing; found {sorted(loaded)}")
        notes.append(_note(loaded, where))
    return notes


def _note(loaded: dict[str, Any], where: str) -> RealNote:
    spans = {}
    for version in NOTE_VERSIONS:
        listed = loaded[f"{version}_spans"] or []  # null if the publishers found none
        for span in listed:
            if loaded[version][span["start"] : span["end"]] != span["text"]:
                raise SourceError(f"{where}: span {span['text']!r} does not stand at {span['start']}-{span['end']}")
        spans[version] = tuple(SymptomSpan(s["symptom"], s["start"], s["end"]) for s in listed)
    return RealNote(int(loaded["record"]), {v: loaded[v] for v in NOTE_VERSIONS}, spans)


KEYWORDS: dict[str, str] = words("published_notes")["keywords"]
"""Keywords of the comparison annotator: the symptoms' names and their most common synonyms."""
STAGE = "annotator_quality"
THRESHOLDS = (0.5, 0.3)
MEASURES = (*(f"span_iou_{t:g}" for t in THRESHOLDS), "token", "symptom_in_note")
_TOKEN = re.compile(r"\w+")


@dataclass(frozen=True)
class Counts:
    """Hits and sizes of one note. Precision, recall and F1 are computed from their sums over notes."""

    hits: float
    predicted: int
    reference: int


def overlap(a: SymptomSpan, b: SymptomSpan) -> float:
    """Intersection over union of two spans' characters; 0 for different symptoms."""
    if a.symptom != b.symptom:
        return 0.0
    shared = max(0, min(a.end, b.end) - max(a.start, b.start))
    return shared / (max(a.end, b.end) - min(a.start, b.start)) if shared else 0.0


def matched(predicted: Sequence[SymptomSpan], reference: Sequence[SymptomSpan], threshold: float) -> int:
    """Pairs of the best one-to-one pairing whose overlap is at least ``threshold``."""
    if not predicted or not reference:
        return 0
    scores = np.array([[overlap(a, b) for b in reference] for a in predicted])
    gain = np.where(scores >= threshold, 1.0 + 1e-6 * scores, 0.0)
    rows, columns = linear_sum_assignment(gain, maximize=True)
    return int((scores[rows, columns] >= threshold).sum())


def span_counts(predicted: Sequence[SymptomSpan], reference: Sequence[SymptomSpan], threshold: float) -> Counts:
    """Span agreement of one note at an overlap threshold."""
    return Counts(matched(predicted, reference, threshold), len(predicted), len(reference))


def token_counts(note: str, predicted: Sequence[SymptomSpan], reference: Sequence[SymptomSpan]) -> Counts:
    """Agreement of one note in (symptom, token) pairs."""
    words = [(m.start(), m.end()) for m in _TOKEN.finditer(note)]

    def covered(spans: Sequence[SymptomSpan]) -> set[tuple[str, int]]:
        return {(s.symptom, i) for s in spans for i, (a, b) in enumerate(words) if s.start < b and a < s.end}

    ours, theirs = covered(predicted), covered(reference)
    return Counts(len(ours & theirs), len(ours), len(theirs))


def states(note: str, spans: Sequence[SymptomSpan]) -> dict[str, str]:
    """State of each symptom with a span: present if any of its spans affirms it, else absent.

    Only the words of the span are used, so that spans from all annotators are treated alike. A span denies its symptom
    if a denying word precedes the symptom's last keyword in its clause, or closely follows it.
    """
    found: dict[str, str] = {}
    for span in spans:
        state = "absent" if _denies(note[span.start : span.end], span.symptom) else "present"
        if found.get(span.symptom) != "present":
            found[span.symptom] = state
    return found


def _denies(text: str, symptom: str) -> bool:
    denial, after = pattern("published_notes", "denial"), pattern("published_notes", "denied_after")
    named = list(re.finditer(KEYWORDS.get(symptom, r"$^"), text, re.IGNORECASE))
    if not named:
        return denial.search(text) is not None
    end = named[-1].end()
    clause = re.split(r"\.\s|;|\b(?:but|however|although)\b", text[:end])[-1]
    return denial.search(clause) is not None or after.match(text, end) is not None


def state_counts(ours: dict[str, str], theirs: dict[str, str]) -> Counts:
    """Agreement of one note in (symptom, present or absent) pairs."""
    return Counts(len(ours.items() & theirs.items()), len(ours), len(theirs))


def whole_sentences(note: str) -> list[SymptomSpan]:
    """The comparison annotator: every sentence that matches a symptom's `KEYWORDS` is a span of it."""
    return [
        SymptomSpan(symptom, start, end)
        for start, end in sentence_spans(note)
        for symptom, named in KEYWORDS.items()
        if re.search(named, note[start:end], re.IGNORECASE)
    ]


def f1(counts: Sequence[Counts]) -> float:
    """Micro-averaged F1 over notes; nan if there are neither predicted nor reference items."""
    both = sum(c.predicted + c.reference for c in counts)
    return 2 * sum(c.hits for c in counts) / both if both else NAN


def agreement(
    notes: dict[int, str],
    predicted: dict[int, list[SymptomSpan]],
    reference: dict[int, list[SymptomSpan]],
) -> dict[str, list[Counts]]:
    """Counts of each note (in the order of ``notes``), by measure of `MEASURES`."""
    found: dict[str, list[Counts]] = {m: [] for m in MEASURES}
    for record, note in notes.items():
        ours, theirs = predicted.get(record, []), reference.get(record, [])
        for threshold in THRESHOLDS:
            found[f"span_iou_{threshold:g}"].append(span_counts(ours, theirs, threshold))
        found["token"].append(token_counts(note, ours, theirs))
        found["symptom_in_note"].append(state_counts(states(note, ours), states(note, theirs)))
    return found


def agreement_rows(
    system: str, condition: str, counts: dict[str, list[Counts]], *, seed: int, provenance: str, unscored: int = 0
) -> pd.DataFrame:
    """Metric rows of `agreement`: F1, precision and recall of each measure with intervals over notes."""
    rows = []
    for measure, listed in counts.items():
        hits, predicted, reference = np.array([(c.hits, c.predicted, c.reference) for c in listed]).reshape(-1, 3).T
        parts = {"f1": (2 * hits, predicted + reference), "precision": (hits, predicted), "recall": (hits, reference)}
        rows += [ratio_row(name, *of, n=len(listed), seed=seed, item=measure) for name, of in parts.items()]
    about = {"stage": STAGE, "system": system, "condition": condition, "provenance": provenance}
    return metric_table(rows, unscored=unscored, seed=seed, **about)


HALVES = ("all", "even records", "odd records")
"""The rules were written with the notes of even record numbers in view, and some of the others in a second step."""


def agreement_table(
    notes: Sequence[RealNote], spans: pd.DataFrame, half: str, *, seed: int, provenance: str, unscored: int
) -> pd.DataFrame:
    """Metric rows of both annotators on one half of the notes (see `HALVES`), both versions."""
    chosen = [n for n in notes if half == "all" or n.record % 2 == (half == "odd records")]
    tables = []
    for version in NOTE_VERSIONS:
        texts = {n.record: n.text[version] for n in chosen}
        reference = {n.record: list(n.spans[version]) for n in chosen}
        own: dict[int, list[SymptomSpan]] = {record: [] for record in texts}
        for row in spans[(spans["version"] == version) & spans["record"].isin(list(texts))].itertuples():
            own[int(row.record)].append(SymptomSpan(str(row.symptom), int(row.start), int(row.end)))
        sentences = {record: whole_sentences(text) for record, text in texts.items()}
        condition = version if half == "all" else f"{version}, {half}"
        annotator = {"provenance": provenance, "unscored": unscored}
        for system, predicted, made in (
            ("annotator", own, annotator),
            ("whole sentence a keyword", sentences, {"provenance": COMPUTED}),
        ):
            counts = agreement(texts, predicted, reference)
            tables.append(agreement_rows(system, condition, counts, seed=seed, **made))
    return pd.concat(tables, ignore_index=True)


def absent_row(seed: int) -> pd.DataFrame:
    """The table's single row if the real notes are not available."""
    about = {"stage": STAGE, "system": "annotator", "condition": "absent", "item": "all", "seed": seed}
    return metric_table([metric_row("f1", NAN, n=0)], provenance=f"absent: sources.folder has no {REAL_NOTES}", **about)


SYSTEM = "annotator, choices by cross-validation"
_CHOICES = {
    "modifier_excess": (40, 0),
    "reporting_verb": (True, False),
    "denied_circumstances": (True, False),
    "whole_denied_list": (True, False),
    "references": (True, False),
    "repeated_signs": (False, True),
    "descriptions": (False,),  # published notes have none; without them a note takes a fifth of the time
}
GRID = [SpanSettings(**dict(zip(_CHOICES, values, strict=True))) for values in product(*_CHOICES.values())]  # type: ignore[arg-type]
"""Combinations to choose from, the one in use first."""


def cross_validated(notes: Sequence[RealNote], *, folds: int, seed: int) -> pd.DataFrame:
    """Metric rows of spans whose settings are chosen, for each fold, by span F1 on the notes of the other folds.

    A fold holds both versions of its notes. The words and the other rules are those in use, so the rows measure the
    choice of settings only. ``folds`` is the number of parts, at most that of the notes.
    """
    scores = [[_span_counts(note, settings) for note in notes] for settings in GRID]
    order = np.random.default_rng(seed).permutation(len(notes))
    chosen: dict[int, SpanSettings] = {}
    for part in np.array_split(order, folds):
        others = [at for at in range(len(notes)) if at not in part]
        best = max(range(len(GRID)), key=lambda at: f1([c for other in others for c in scores[at][other]]))
        chosen |= {int(at): GRID[best] for at in part}
    tables = []
    for version in NOTE_VERSIONS:
        texts = {note.record: note.text[version] for note in notes}
        reference = {note.record: list(note.spans[version]) for note in notes}
        found = {note.record: _spans(note.text[version], chosen[at]) for at, note in enumerate(notes)}
        counts = agreement(texts, found, reference)
        condition = f"{version}, {folds} folds"
        tables.append(agreement_rows(SYSTEM, condition, counts, seed=seed, provenance="the rules, no model"))
    return pd.concat(tables, ignore_index=True)


def _span_counts(note: RealNote, settings: SpanSettings) -> list[Counts]:
    return [span_counts(_spans(note.text[v], settings), note.spans[v], 0.5) for v in NOTE_VERSIONS]


def _spans(text: str, settings: SpanSettings) -> list[SymptomSpan]:
    return [SymptomSpan(span.symptom, span.start, span.end) for span in find_spans(text, settings)]
