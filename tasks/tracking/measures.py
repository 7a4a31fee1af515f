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
    """Measures of a table of record scores (schemas.tables.metrics.SCORES), by key.

    Items that stand for one record each, such as questions, are no measures of their own: a record's mean over them is.
    """
    measures = {}
    for key, group in _merge_own_items(scores).sort_values("record").groupby(_SCORE_KEY, sort=True):
        key = (stage, *key)
        parts = group["value"].to_numpy(np.float32)[:, None, None, None]
        measures[key] = Measure(key, group["record"].to_numpy(np.int64), parts)
    return measures


def _merge_own_items(scores: pd.DataFrame) -> pd.DataFrame:
    family = ["system", "condition", "metric"]
    items = scores.groupby(family)["item"].transform("nunique")
    own = scores.groupby(_SCORE_KEY)["record"].transform("nunique") == 1
    merged = (items > 1) & own.groupby([scores[name] for name in family]).transform("all")
    if not merged.any():
        return scores
    means = scores[merged].groupby(["record", *family], as_index=False)["value"].mean()
    return pd.concat([scores[~merged], means.assign(item="all")], ignore_index=True)


PREDICTION_COLUMNS = ["record", *_PREDICTION_KEY, "seed", "label", "predicted"]
"""What F1 needs of a table of predictions; the other columns need not be read."""


def prediction_measures(predictions: pd.DataFrame, stage: str) -> dict[Key, Measure]:
    """F1 of a table of predictions (schemas.tables.baselines.PREDICTIONS), by key; macro over classes beyond two.

    The table has a row for each class of each prediction; they repeat the prediction.
    """
    rows = predictions[PREDICTION_COLUMNS].astype(
        {name: "category" for name in [*_PREDICTION_KEY, "label", "predicted"] if predictions[name].dtype != "category"}
    )
    measures = {}
    for names, group in rows.groupby(_PREDICTION_KEY, sort=True, observed=True):
        key = (stage, *names, "f1")
        measures[key] = Measure(key, *_counts(group))
    return measures


def _counts(group: pd.DataFrame) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]:
    """Records, and hits, false positives and misses (records, seeds, classes, 3) of one predictor on one symptom."""
    records, row = np.unique(group["record"].to_numpy(np.int64), return_inverse=True)
    seeds, column = np.unique(group["seed"].to_numpy(), return_inverse=True)
    true, guess = (np.full((len(records), len(seeds)), -1, dtype=np.int8) for _ in range(2))
    names = sorted({*group["label"].cat.categories, *group["predicted"].cat.categories})
    for place, side in ((true, "label"), (guess, "predicted")):
        code = np.array([names.index(name) for name in group[side].cat.categories], dtype=np.int8)
        place[row, column] = code[group[side].cat.codes.to_numpy()]
    if (true < 0).any():
        raise ValueError("a record lacks the prediction of some seed")
    present = {names[code] for code in np.union1d(true, guess)}
    classes = ["yes"] if present <= {"no", "yes"} else sorted(present)
    codes = [names.index(name) for name in classes]
    parts = [[(true == c) & (guess == c), (true != c) & (guess == c), (true == c) & (guess != c)] for c in codes]
    return records, np.moveaxis(np.array(parts, dtype=np.float32), (0, 1), (2, 3))
