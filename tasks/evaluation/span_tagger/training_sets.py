"""Span detection on published notes after training on generated notes, on published ones, and on both.

SimSUM (Section 4) names span detectors as a use of its annotated spans; the paper has no such figures.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import pandas as pd

from schemas.params.training_data import TrainingData
from tasks.encoder.words import Words
from tasks.evaluation.annotator.quality import Counts, agreement, agreement_rows
from tasks.evaluation.annotator.real_notes import SymptomSpan
from tasks.evaluation.span_tagger.tagger import Tagger, train_tagger
from tasks.evaluation.span_tagger.tags import spans_of, tags_of

STAGE = "training_data"
EXTRACTED = ", annotator's spans"
"""Ending of the name of a tagger whose training notes have extracted spans."""
_FOLDS = 805
VERSIONS = ("normal", "compact")


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
    extracted: Sequence[MarkedNote],
    published: Sequence[MarkedNote],
    symptoms: Sequence[str],
    params: TrainingData,
    *,
    seed: int,
    provenance: str,
) -> pd.DataFrame:
    """METRICS rows of taggers by their training notes, tested on published notes and on held-out generated notes.

    ``generated`` holds the largest of ``params.sizes`` and ``params.held_out`` records in both versions, with their
    true spans; a training set is its first records, the held-out ones are its last. ``extracted`` holds the same notes
    with the annotator's spans, for taggers that are trained without the truth. Published notes are trained on in
    cross-validation, with both versions of a note in one fold. A smaller set is part of each larger one. Raises
    ValueError for too few records.
    """
    records = list(dict.fromkeys(note.record for note in generated))
    if len(records) < params.sizes[-1] + params.held_out:
        raise ValueError(f"{len(records)} generated notes; expected {params.sizes[-1]} and {params.held_out} held out")
    held_out = _of(generated, records[-params.held_out :])

    def train(notes: Sequence[MarkedNote]) -> Tagger:
        tagged = [(note.words, tags_of(note.words, note.spans, symptoms)) for note in notes]
        return train_tagger(tagged, penalty=params.penalty, prior_weight=params.prior_weight)

    def rows(system: str, tested: Sequence[MarkedNote], taggers: Mapping[int, Tagger], of: str = "") -> pd.DataFrame:
        found = {(n.version, n.record): spans_of(n.words, taggers[n.record].predict(n.words), symptoms) for n in tested}
        tables = [
            agreement_rows(system, f"{version}{of}", counts, seed=seed, provenance=provenance)
            for version, counts in _agreements(tested, found)
        ]
        return pd.concat(tables, ignore_index=True).assign(stage=STAGE)

    tables: list[pd.DataFrame] = []
    for size, (marked, of_whom) in product(params.sizes, ((generated, ""), (extracted, EXTRACTED))):
        tagger, name = train(_of(marked, records[:size])), f"tagger, {size} generated notes{of_whom}"
        tables.append(rows(name, published, {note.record: tagger for note in published}))
        tables.append(rows(name, held_out, {note.record: tagger for note in held_out}, ", generated"))
    fold = _folds(published, params.folds, seed)
    added = _of(generated, records[: params.added])
    both = f"tagger, published and {params.added} generated notes"
    for name, more in (("tagger, published notes", []), (both, added)):
        of_fold = [train([*more, *[note for note in published if fold[note.record] != k]]) for k in range(params.folds)]
        tables.append(rows(name, published, {record: of_fold[k] for record, k in fold.items()}))
    return pd.concat(tables, ignore_index=True)


def _of(notes: Sequence[MarkedNote], records: Sequence[int]) -> list[MarkedNote]:
    chosen = set(records)
    return [note for note in notes if note.record in chosen]


def _folds(notes: Sequence[MarkedNote], folds: int, seed: int) -> dict[int, int]:
    """Fold of each record, at random and of equal sizes."""
    records = sorted({note.record for note in notes})
    order = np.random.default_rng([seed, _FOLDS]).permutation(len(records))
    return {records[place]: int(number % folds) for number, place in enumerate(order)}


def _agreements(
    notes: Sequence[MarkedNote], found: Mapping[tuple[str, int], list[SymptomSpan]]
) -> Iterator[tuple[str, dict[str, list[Counts]]]]:
    """Each version with the agreement of its spans."""
    for version in VERSIONS:
        tested = [note for note in notes if note.version == version]
        ours = {note.record: found[version, note.record] for note in tested}
        theirs = {note.record: list(note.spans) for note in tested}
        yield version, agreement({note.record: note.text for note in tested}, ours, theirs)


def annotator_rows(quality: pd.DataFrame) -> pd.DataFrame:
    """Rows of the annotator and of keywords on the same published notes, from the table of stage annotator_quality."""
    chosen = quality["condition"].isin(["normal", "compact"]) & quality["metric"].isin(["f1", "precision", "recall"])
    return quality[chosen].assign(stage=STAGE)
