"""A tagger of symptom spans, trained on generated notes, on published ones, or on both, and tested on published ones.

The words of a note have BIO tags, one sequence per symptom, since a stretch may carry several symptoms. For each
symptom, a softmax over the tags of a word (multinomial logistic regression with a quadratic penalty) is fitted on the
encoder's frozen vectors of the words. Decoding takes the most likely sequence of tags under the transitions of the
training notes, where a word's probabilities are divided by a power of the tags' frequencies, as in hybrids of
classifier and hidden Markov model (Bourlard and Morgan 1994, chapter 7): most words are outside of any span, and plain
probabilities would find too few spans.

SimSUM (Section 4) names span detectors as a use of its annotated spans; the paper has no such figures.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch
from torch import nn

from schemas.params.learning import TrainingData
from schemas.tables.columns import NOTE_VERSIONS
from tasks.encoder.encoder import Words
from tasks.judges.span_agreement import SymptomSpan, agreement, agreement_rows

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


Floats = npt.NDArray[np.float64]
_TAGS = 3
_SMOOTHING = 0.5
"""Added to each count of tags and transitions."""
_STEPS = 50
_IMPOSSIBLE = -1e9


@dataclass(frozen=True)
class Tagger:
    """``weights`` (dimension + 1, symptoms * tags), ``frequencies`` (symptoms, tags) and ``transitions`` (symptoms,
    tags, tags) as logarithms; vectors are scaled by ``mean`` and ``deviation`` (dimension,)."""

    weights: Floats
    mean: Floats
    deviation: Floats
    frequencies: Floats
    transitions: Floats
    prior_weight: float

    def predict(self, words: Words) -> Tags:
        """The most likely tags (words, symptoms) of a note (Viterbi's algorithm)."""
        scaled = (words.vectors - self.mean) / self.deviation
        scores = scaled @ self.weights[:-1] + self.weights[-1]
        logits = scores.reshape(len(scores), -1, _TAGS)
        emissions = logits - np.logaddexp.reduce(logits, axis=2, keepdims=True)
        emissions = emissions - self.prior_weight * self.frequencies
        columns = [
            _best_path(emissions[:, number], first, steps)
            for number, (first, steps) in enumerate(zip(self.frequencies, self.transitions, strict=True))
        ]
        return np.stack(columns, axis=1)


def train_tagger(notes: Sequence[tuple[Words, Tags]], *, penalty: float, prior_weight: float) -> Tagger:
    """Fit the tagger to notes with tags.

    ``penalty``: weight of the sum of squared weights, which is added to the mean over words of the negative log
    likelihood, summed over symptoms. ``prior_weight``: power of the tags' frequencies in decoding, 0 to 1.
    """
    vectors = np.concatenate([words.vectors for words, _ in notes])
    tags = np.concatenate([tags for _, tags in notes])
    mean, deviation = vectors.mean(axis=0), vectors.std(axis=0) + np.float32(1e-6)
    vectors -= mean
    vectors /= deviation
    weights = _fit(vectors, tags, penalty)
    frequencies, transitions = _counted([tags for _, tags in notes])
    return Tagger(
        weights, mean.astype(np.float64), deviation.astype(np.float64), frequencies, transitions, prior_weight
    )


def _fit(vectors: npt.NDArray[np.float32], tags: Tags, penalty: float) -> Floats:
    inputs, targets = torch.from_numpy(vectors), torch.from_numpy(tags).view(-1)
    symptoms = tags.shape[1]
    weights = torch.zeros(vectors.shape[1], symptoms * _TAGS, requires_grad=True)
    bias = torch.zeros(symptoms * _TAGS, requires_grad=True)
    optimiser = torch.optim.LBFGS([weights, bias], max_iter=_STEPS, line_search_fn="strong_wolfe")

    def loss() -> torch.Tensor:
        optimiser.zero_grad()
        logits = (inputs @ weights + bias).view(-1, _TAGS)
        value = symptoms * nn.functional.cross_entropy(logits, targets) + penalty * weights.square().sum()
        value.backward()
        return value

    optimiser.step(loss)
    return np.concatenate([weights.detach().numpy(), bias.detach().numpy()[None]]).astype(np.float64)


def _counted(sequences: Sequence[Tags]) -> tuple[Floats, Floats]:
    """Logarithms of the tags' frequencies and transitions; a span cannot go on where none has begun."""
    symptoms = sequences[0].shape[1]
    tags, steps = np.full((symptoms, _TAGS), _SMOOTHING), np.full((symptoms, _TAGS, _TAGS), _SMOOTHING)
    for sequence in sequences:
        for number, column in enumerate(sequence.T):
            np.add.at(tags[number], column, 1)
            np.add.at(steps[number], (column[:-1], column[1:]), 1)
    transitions = np.log(steps / steps.sum(axis=2, keepdims=True))
    transitions[:, OUTSIDE, INSIDE] = _IMPOSSIBLE
    return np.log(tags / tags.sum(axis=1, keepdims=True)), transitions


def _best_path(emissions: Floats, first: Floats, steps: Floats) -> npt.NDArray[np.int64]:
    """Tags (words,) of the highest sum of ``emissions`` (words, tags), ``first`` (tags,) and ``steps`` (tags, tags)."""
    score = emissions[0] + np.where(np.arange(_TAGS) == INSIDE, _IMPOSSIBLE, first)
    origins = []
    for emission in emissions[1:]:
        reached = score[:, None] + steps
        origins.append(reached.argmax(axis=0))
        score = reached.max(axis=0) + emission
    path = [int(score.argmax())]
    for origin in reversed(origins):
        path.append(int(origin[path[-1]]))
    return np.array(path[::-1], dtype=np.int64)


STAGE = "training_data"
EXTRACTED = ", annotator's spans"
"""Ending of the name of a tagger whose training notes have extracted spans."""
_FOLDS = 805


@dataclass(frozen=True)
class MarkedNote:
    """One version of a note with its spans and the vectors of its words."""

    record: int
    version: str
    text: str
    words: Words
    spans: tuple[SymptomSpan, ...]


@dataclass(frozen=True)
class _Trial:
    """Training and testing of taggers that tell spans of ``names``."""

    names: Sequence[str]
    params: TrainingData
    seed: int
    provenance: str

    def train(self, notes: Sequence[MarkedNote]) -> Tagger:
        tagged = [(note.words, tags_of(note.words, note.spans, self.names)) for note in notes]
        return train_tagger(tagged, penalty=self.params.penalty, prior_weight=self.params.prior_weight)

    def tested(
        self, system: str, notes: Sequence[MarkedNote], taggers: Mapping[int, Tagger], of: str = ""
    ) -> pd.DataFrame:
        """Rows of the tagger of each record on the notes of that record."""
        found = {
            (note.version, note.record): spans_of(note.words, taggers[note.record].predict(note.words), self.names)
            for note in notes
        }
        return self.rows(system, notes, found, of)

    def rows(
        self, system: str, notes: Sequence[MarkedNote], found: Mapping[tuple[str, int], list[SymptomSpan]], of: str
    ) -> pd.DataFrame:
        """Rows of each version's spans ``found``, by version and record, against those of the ``notes``."""
        tables = []
        for version in NOTE_VERSIONS:
            tested = [note for note in notes if note.version == version]
            ours = {note.record: found[version, note.record] for note in tested}
            theirs = {note.record: list(note.spans) for note in tested}
            counts = agreement({note.record: note.text for note in tested}, ours, theirs)
            tables.append(agreement_rows(system, f"{version}{of}", counts, seed=self.seed, provenance=self.provenance))
        return pd.concat(tables, ignore_index=True).assign(stage=STAGE)


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
    records, held_out = _parted(generated, params)
    trial = _Trial(symptoms, params, seed, provenance)
    tables: list[pd.DataFrame] = []
    for size, (marked, of_whom) in product(params.sizes, ((generated, ""), (extracted, EXTRACTED))):
        tagger, name = trial.train(_of(marked, records[:size])), f"tagger, {size} generated notes{of_whom}"
        tables.append(trial.tested(name, published, {note.record: tagger for note in published}))
        tables.append(trial.tested(name, held_out, {note.record: tagger for note in held_out}, ", generated"))
    fold = _folds(published, params.folds, seed)
    added = _of(generated, records[: params.added])
    both = f"tagger, published and {params.added} generated notes"
    for name, more in (("tagger, published notes", []), (both, added)):
        of_fold = [
            trial.train([*more, *[note for note in published if fold[note.record] != k]]) for k in range(params.folds)
        ]
        tables.append(trial.tested(name, published, {record: of_fold[k] for record, k in fold.items()}))
    return pd.concat(tables, ignore_index=True)


def assertion_table(
    generated: Sequence[MarkedNote],
    extracted: Sequence[MarkedNote],
    symptoms: Sequence[str],
    params: TrainingData,
    *,
    seed: int,
    provenance: str,
) -> pd.DataFrame:
    """METRICS rows on held-out generated notes where a span counts only with its assertion.

    Notes as in `training_data_table`, with spans named by `with_assertion`. Taggers tell present from absent symptoms,
    which is all that the simulator's truth has; the annotator may say more, and is then wrong.
    """
    records, held_out = _parted(generated, params)
    names = [with_assertion(symptom, assertion) for symptom in symptoms for assertion in ("present", "absent")]
    trial, of = _Trial(names, params, seed, provenance), ", generated, with assertion"
    tables = []
    for size in params.sizes:
        tagger = trial.train(_of(generated, records[:size]))
        taggers = {note.record: tagger for note in held_out}
        tables.append(trial.tested(f"tagger, {size} generated notes", held_out, taggers, of))
    found = {(note.version, note.record): list(note.spans) for note in extracted}
    both = [note for note in held_out if (note.version, note.record) in found]
    lacking = params.held_out - len({note.record for note in both})
    annotated = trial.rows("annotator", both, found, of).assign(unscored=lacking)
    return pd.concat([*tables, annotated], ignore_index=True)


def with_assertion(symptom: str, assertion: str) -> str:
    """Name of a symptom's spans with that assertion."""
    return f"{symptom}, {assertion}"


def _parted(generated: Sequence[MarkedNote], params: TrainingData) -> tuple[list[int], list[MarkedNote]]:
    """All records in order, and the notes of the held-out ones."""
    records = list(dict.fromkeys(note.record for note in generated))
    if len(records) < params.sizes[-1] + params.held_out:
        raise ValueError(f"{len(records)} generated notes; expected {params.sizes[-1]} and {params.held_out} held out")
    return records, _of(generated, records[-params.held_out :])


def _of(notes: Sequence[MarkedNote], records: Sequence[int]) -> list[MarkedNote]:
    chosen = set(records)
    return [note for note in notes if note.record in chosen]


def _folds(notes: Sequence[MarkedNote], folds: int, seed: int) -> dict[int, int]:
    """Fold of each record, at random and of equal sizes."""
    records = sorted({note.record for note in notes})
    order = np.random.default_rng([seed, _FOLDS]).permutation(len(records))
    return {records[place]: int(number % folds) for number, place in enumerate(order)}


def annotator_rows(quality: pd.DataFrame) -> pd.DataFrame:
    """Rows of the annotator and of keywords on the same published notes, from the table of stage annotator_quality."""
    chosen = quality["condition"].isin(NOTE_VERSIONS) & quality["metric"].isin(["f1", "precision", "recall"])
    return quality[chosen].assign(stage=STAGE)
