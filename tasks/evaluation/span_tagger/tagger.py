"""A linear tagger on frozen word vectors, and its decoding.

For each symptom, a softmax over the tags of a word (multinomial logistic regression with a quadratic penalty). Decoding
takes the most likely sequence of tags under the transitions of the training notes, where a word's probabilities are
divided by a power of the tags' frequencies, as in hybrids of classifier and hidden Markov model (Bourlard and Morgan
1994, chapter 7): most words are outside of any span, and plain probabilities would find too few spans.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from tasks.encoder.words import Words
from tasks.evaluation.span_tagger.tags import INSIDE, OUTSIDE, Tags

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
