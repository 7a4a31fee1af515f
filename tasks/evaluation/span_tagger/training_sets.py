"""Span detection on published notes after training on generated notes, on published ones, and on both.

SimSUM (Section 5) names training data for span detectors as a use of simulated notes; the paper has no such figures.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from schemas.params.training_data import TrainingData
from tasks.encoder.words import Words
from tasks.evaluation.annotator.quality import agreement, agreement_rows
from tasks.evaluation.annotator.real_notes import SymptomSpan
from tasks.evaluation.span_tagger.tagger import Tagger, train_tagger
from tasks.evaluation.span_tagger.tags import spans_of, tags_of

STAGE = "training_data"
_FOLDS = 805
Spans = Mapping[int, list[SymptomSpan]]


@dataclass(frozen=True)
class MarkedNote:
    """One version of a note with its spans and the vectors of its words."""

    record: int
    version: str
    text: str
    words: Words
    spans: tuple[SymptomSpan, ...]


def training_data_table(
    generated: Sequence[MarkedNote],
    published: Sequence[MarkedNote],
    symptoms: Sequence[str],
    params: TrainingData,
    *,
    seed: int,
    provenance: str,
) -> pd.DataFrame:
    """METRICS rows of taggers by their training notes, tested on published notes and on held-out generated notes.

    ``generated`` holds the largest of ``params.sizes`` and ``params.held_out`` records in both versions; a training set
    is its first records, the held-out ones are its last. Published notes are trained on in cross-validation, with both
    versions of a note in one fold. A smaller set is part of each larger one. Raises ValueError for too few records.
    """
    records = list(dict.fromkeys(note.record for note in generated))
    if len(records) < params.sizes[-1] + params.held_out:
        raise ValueError(f"{len(records)} generated notes; expected {params.sizes[-1]} and {params.held_out} held out")
    held_out = _of(generated, records[-params.held_out :])

    def train(notes: Sequence[MarkedNote]) -> Tagger:
        tagged = [(note.words, tags_of(note.words, note.spans, symptoms)) for note in notes]
        return train_tagger(tagged, penalty=params.penalty, prior_weight=params.prior_weight)

    def rows(system: str, tested: Sequence[MarkedNote], tagger_of: Callable[[int], Tagger], of: str = "") -> list:
        return [
            _rows(system, version, of, tested, tagger_of, symptoms, seed, provenance)
            for version in ("normal", "compact")
        ]

    tables: list[pd.DataFrame] = []
    for size in params.sizes:
        tagger, name = train(_of(generated, records[:size])), f"tagger, {size} generated notes"
        tables += rows(name, published, lambda _, tagger=tagger: tagger)
        tables += rows(name, held_out, lambda _, tagger=tagger: tagger, ", generated")
    fold = _folds(published, params.folds, seed)
    for name, more in (
        ("published notes", []),
        (f"published and {params.added} generated notes", _of(generated, records[: params.added])),
    ):
        taggers = [train([*more, *[note for note in published if fold[note.record] != k]]) for k in range(params.folds)]
        tables += rows(f"tagger, {name}", published, lambda record, taggers=taggers: taggers[fold[record]])
    return pd.concat(tables, ignore_index=True)


def _of(notes: Sequence[MarkedNote], records: Sequence[int]) -> list[MarkedNote]:
    chosen = set(records)
    return [note for note in notes if note.record in chosen]


def _folds(notes: Sequence[MarkedNote], folds: int, seed: int) -> dict[int, int]:
    """Fold of each record, at random and of equal sizes."""
    records = sorted({note.record for note in notes})
    order = np.random.default_rng([seed, _FOLDS]).permutation(len(records))
    return {records[place]: int(number % folds) for number, place in enumerate(order)}


def _rows(
    system: str,
    version: str,
    of: str,
    notes: Sequence[MarkedNote],
    tagger_of: Callable[[int], Tagger],
    symptoms: Sequence[str],
    seed: int,
    provenance: str,
) -> pd.DataFrame:
    """Metric rows of one tagger on one version; each note has the tagger of its record."""
    tested = [note for note in notes if note.version == version]
    found = {n.record: spans_of(n.words, tagger_of(n.record).predict(n.words), symptoms) for n in tested}
    counts = agreement({n.record: n.text for n in tested}, found, {n.record: list(n.spans) for n in tested})
    table = agreement_rows(system, f"{version}{of}", counts, seed=seed, provenance=provenance)
    return table.assign(stage=STAGE)


def annotator_rows(quality: pd.DataFrame) -> pd.DataFrame:
    """Rows of the annotator and of keywords on the same published notes, from the table of stage annotator_quality."""
    chosen = quality["condition"].isin(["normal", "compact"]) & quality["metric"].isin(["f1", "precision", "recall"])
    return quality[chosen].assign(stage=STAGE)
