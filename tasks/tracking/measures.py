"""Measures of a lineage that can be resampled: means of record scores, and F1 of predictions over seeds."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import pandas as pd

Key = tuple[str, str, str, str, str]
_SCORE_KEY = ["system", "condition", "item", "metric"]
_PREDICTION_KEY = ["system", "condition", "symptom"]


@dataclass(frozen=True)
class Measure:
    """One measure, as per-record parts whose sums give its value.

    ``parts`` has shape (records, seeds, classes, 3) with true positives, false positives and false negatives of F1, or
    (records, 1, 1, 1) with a score whose mean is taken. ``records`` (records,) are sorted ids.
    """

    KEY: ClassVar[tuple[str, ...]] = ("stage", "system", "condition", "item", "metric")

    key: Key
    records: npt.NDArray[np.int64]
    parts: npt.NDArray[np.float32]

    def only(self, records: npt.NDArray[np.int64]) -> "Measure":
        """The measure on some of its records."""
        return Measure(self.key, records, self.parts[np.searchsorted(self.records, records)])

    def value(self) -> float:
        """The measure on its records, averaged over seeds."""
        return float(self.by_seed().mean())

    def by_seed(self) -> npt.NDArray[np.float64]:
        """The measure of each seed, (seeds,)."""
        return self._reduce(self.parts.sum(axis=0, dtype=np.float64)[None])[0]

    def resampled(self, weights: npt.NDArray[np.float32]) -> npt.NDArray[np.float64]:
        """The measure of each seed under each row of ``weights`` (draws, records): how often a record was drawn.

        Returns (draws, seeds).
        """
        flat = weights @ self.parts.reshape(len(self.records), -1)
        return self._reduce(flat.reshape(len(weights), *self.parts.shape[1:]))

    def _reduce(self, sums: npt.NDArray[np.floating]) -> npt.NDArray[np.float64]:
        """(draws, seeds, classes, parts) of sums to (draws, seeds) of values."""
        if sums.shape[-1] == 1:
            return sums[:, :, 0, 0].astype(np.float64) / len(self.records)
        hits, wrong, missed = (sums[..., place].astype(np.float64) for place in range(3))
        total = 2 * hits + wrong + missed
        return np.divide(2 * hits, total, out=np.zeros_like(hits), where=total > 0).mean(axis=2)


def score_measures(scores: pd.DataFrame, stage: str) -> dict[Key, Measure]:
    """Measures of a table of record scores (schemas.tables.metrics.SCORES), by key."""
    measures = {}
    for names, group in scores.sort_values("record").groupby(_SCORE_KEY, sort=True):
        key = (stage, *names)
        parts = group["value"].to_numpy(np.float32)[:, None, None, None]
        measures[key] = Measure(key, group["record"].to_numpy(np.int64), parts)
    return measures


def prediction_measures(predictions: pd.DataFrame, stage: str) -> dict[Key, Measure]:
    """F1 of a table of predictions (schemas.tables.baselines.PREDICTIONS), by key; macro over classes beyond two."""
    rows = predictions.drop_duplicates(["record", *_PREDICTION_KEY, "seed"])
    measures = {}
    for names, group in rows.groupby(_PREDICTION_KEY, sort=True):
        key = (stage, *names, "f1")
        label = group.pivot(index="record", columns="seed", values="label")
        predicted = group.pivot(index="record", columns="seed", values="predicted")
        measures[key] = Measure(key, label.index.to_numpy(np.int64), _counts(label, predicted))
    return measures


def _counts(label: pd.DataFrame, predicted: pd.DataFrame) -> npt.NDArray[np.float32]:
    values = sorted(set(np.unique(label.to_numpy())) | set(np.unique(predicted.to_numpy())))
    classes = ["yes"] if set(values) <= {"no", "yes"} else values
    true, guess = label.to_numpy(), predicted.to_numpy()
    parts = [[(true == c) & (guess == c), (true != c) & (guess == c), (true == c) & (guess != c)] for c in classes]
    return np.moveaxis(np.array(parts, dtype=np.float32), (0, 1), (2, 3))
