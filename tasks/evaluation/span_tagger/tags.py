"""BIO tags of the words of a note, one sequence per symptom, since a stretch may carry several symptoms."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tasks.encoder.words import Words
from tasks.evaluation.annotator.real_notes import SymptomSpan

OUTSIDE, BEGIN, INSIDE = range(3)
Tags = npt.NDArray[np.int64]


def tags_of(words: Words, spans: Sequence[SymptomSpan], symptoms: Sequence[str]) -> Tags:
    """Tags (words, symptoms) of a note's spans; where two spans of one symptom overlap, the earlier keeps the words."""
    tags = np.full((len(words.starts), len(symptoms)), OUTSIDE, dtype=np.int64)
    for span in sorted(spans, key=lambda span: (span.start, span.end)):
        column = tags[:, symptoms.index(span.symptom)]
        covered = (words.starts < span.end) & (words.ends > span.start) & (column == OUTSIDE)
        column[covered] = INSIDE
        column[np.flatnonzero(covered)[:1]] = BEGIN
    return tags


def spans_of(words: Words, tags: Tags, symptoms: Sequence[str]) -> list[SymptomSpan]:
    """The spans of tags (words, symptoms), in the order of symptoms."""
    spans = []
    for symptom, column in zip(symptoms, tags.T, strict=True):
        for begin in np.flatnonzero(column == BEGIN):
            rest = np.flatnonzero(column[begin + 1 :] != INSIDE)
            end = begin + int(rest[0]) if len(rest) else len(column) - 1
            spans.append(SymptomSpan(symptom, int(words.starts[begin]), int(words.ends[end])))
    return spans
