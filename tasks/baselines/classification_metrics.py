"""F1, precision, recall, Brier score, log loss and calibration error as functions of sums over records.

Each metric is computed from per-record terms, so that bootstrap intervals of all metrics need one product of
resampling counts and terms.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tasks.baselines.arrays import Floats, Integers
from tasks.baselines.targets import decide

Sums = dict[str, Floats]

METRICS = ("f1", "precision", "recall", "brier", "calibration_error", "log_loss")


@dataclass(frozen=True)
class Terms:
    """Named per-record terms, (n, k); the sums over a resample of the records are the product with its counts."""

    names: tuple[str, ...]
    values: Floats

    def sums(self, counts: Floats) -> Sums:
        """Sums for each row of ``counts`` (draws, n): name -> (draws,)."""
        totals = counts @ self.values
        return {name: totals[:, column] for column, name in enumerate(self.names)}


def terms_of(labels: Integers, probabilities: Floats, bins: int) -> Terms:
    """Terms of all metrics for labels (n,) and probabilities (n, values)."""
    n, values = probabilities.shape
    predicted = decide(probabilities)
    one_hot = np.eye(values)[labels]
    columns: dict[str, Floats] = {"n": np.ones(n)}
    for value in _scored(values):
        is_true, is_predicted = labels == value, predicted == value
        columns[f"hit{value}"] = (is_true & is_predicted) * 1.0
        columns[f"true{value}"] = is_true * 1.0
        columns[f"predicted{value}"] = is_predicted * 1.0
        bin_of = bin_numbers(probabilities[:, value], bins)
        for number in range(bins):
            gap = np.where(bin_of == number, probabilities[:, value] - one_hot[:, value], 0.0)
            columns[f"gap{value}/{number}"] = gap
    brier_values = slice(1, 2) if values == 2 else slice(None)
    columns["brier"] = ((probabilities - one_hot)[:, brier_values] ** 2).sum(axis=1)
    columns["log_loss"] = -np.log(np.clip(probabilities[np.arange(n), labels], 1e-12, 1))
    return Terms(tuple(columns), np.stack(list(columns.values()), axis=1))


def bin_numbers(probabilities: Floats, bins: int) -> Integers:
    """The bin of each probability (n,) among ``bins`` equally wide ones; 1 falls in the last."""
    return np.minimum((probabilities * bins).astype(np.int64), bins - 1)


def _scored(values: int) -> range:
    return range(1, 2) if values == 2 else range(values)


def metric_of(name: str, sums: Sums, values: int) -> Floats:
    """A metric from sums, (draws,). With more than two values F1, precision and recall are macro averages.

    ``brier`` is the mean squared distance to the label (0-1 for two values, 0-2 for more); ``calibration_error`` is
    the expected calibration error over equally wide bins, averaged over values. A ratio with denominator 0 is 0.
    """
    if name in ("brier", "log_loss"):
        return sums[name] / sums["n"]
    by_value: Callable[[int], Floats] = {
        "f1": lambda v: _ratio(2 * sums[f"hit{v}"], sums[f"true{v}"] + sums[f"predicted{v}"]),
        "precision": lambda v: _ratio(sums[f"hit{v}"], sums[f"predicted{v}"]),
        "recall": lambda v: _ratio(sums[f"hit{v}"], sums[f"true{v}"]),
        "calibration_error": lambda v: _calibration_error(sums, v),
    }[name]
    averaged: Floats = np.mean([by_value(value) for value in _scored(values)], axis=0)
    return averaged


def _calibration_error(sums: Sums, value: int) -> Floats:
    gaps = [np.abs(gap) for key, gap in sums.items() if key.startswith(f"gap{value}/")]
    return sum(gaps, np.zeros_like(sums["n"])) / sums["n"]


def _ratio(numerator: Floats, denominator: Floats) -> Floats:
    return np.divide(numerator, denominator, out=np.zeros_like(numerator), where=denominator > 0)
