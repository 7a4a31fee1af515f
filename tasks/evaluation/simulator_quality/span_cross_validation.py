"""Cross-validation of the choices in the annotator's span rules over annotated notes, whole notes at a time."""

from collections.abc import Sequence
from itertools import product

import numpy as np
import pandas as pd

from tasks.evaluation.annotator.quality import Counts, agreement, agreement_rows, f1, span_counts
from tasks.evaluation.annotator.real_notes import RealNote, SymptomSpan
from tasks.simulator.annotator.span_settings import SpanSettings
from tasks.simulator.annotator.spans import find_spans

SYSTEM = "annotator, choices by cross-validation"
VERSIONS = ("normal", "compact")
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
    for version in VERSIONS:
        texts = {note.record: note.text[version] for note in notes}
        reference = {note.record: list(note.spans[version]) for note in notes}
        found = {note.record: _spans(note.text[version], chosen[at]) for at, note in enumerate(notes)}
        counts = agreement(texts, found, reference)
        condition = f"{version}, {folds} folds"
        tables.append(agreement_rows(SYSTEM, condition, counts, seed=seed, provenance="the rules, no model"))
    return pd.concat(tables, ignore_index=True)


def _span_counts(note: RealNote, settings: SpanSettings) -> list[Counts]:
    return [span_counts(_spans(note.text[v], settings), note.spans[v], 0.5) for v in VERSIONS]


def _spans(text: str, settings: SpanSettings) -> list[SymptomSpan]:
    return [SymptomSpan(span.symptom, span.start, span.end) for span in find_spans(text, settings)]
