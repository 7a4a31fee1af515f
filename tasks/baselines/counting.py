"""F1, precision, recall, Brier score and calibration error as functions of sums over records, so that bootstrap
intervals of all of them come from one product of resampling weights and per-record terms."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tasks.baselines.targets import Codes, decide

Floats = npt.NDArray[np.float64]
Sums = dict[str, Floats]

METRICS = ("f1", "precision", "recall", "brier", "calibration_error", "log_loss")


@dataclass(frozen=True)
class Terms:
    """Per-record terms (n, k) with their names; sums over any resample of records are products with its counts."""

    names: tuple[str, ...]
    values: Floats

    def sums(self, counts: Floats) -> Sums:
        """Sums over each row of ``counts`` (draws, n): name -> (draws,)."""
        totals = counts @ self.values
        return {name: totals[:, place] for place, name in enumerate(self.names)}


def terms_of(labels: Codes, probabilities: Floats, bins: int) -> Terms:
    """Terms of all metrics for labels (n,) and probabilities (n, values)."""
    n, values = probabilities.shape
    predicted = decide(probabilities)
    wanted = np.eye(values)[labels]
    columns: dict[str, Floats] = {"n": np.ones(n)}
    for value in _scored(values):
        mine, said = labels == value, predicted == value
        columns |= {f"hit{value}": (mine & said) * 1.0, f"true{value}": mine * 1.0, f"said{value}": said * 1.0}
        column = np.minimum((probabilities[:, value] * bins).astype(int), bins - 1)
        for number in range(bins):
            gap = np.where(column == number, probabilities[:, value] - wanted[:, value], 0.0)
            columns[f"gap{value}/{number}"] = gap
    shown = slice(1, 2) if values == 2 else slice(None)
    columns["brier"] = ((probabilities - wanted)[:, shown] ** 2).sum(axis=1)
    columns["log_loss"] = -np.log(np.clip(probabilities[np.arange(n), labels], 1e-12, 1))
    return Terms(tuple(columns), np.stack(list(columns.values()), axis=1))


def _scored(values: int) -> range:
    return range(1, 2) if values == 2 else range(values)


def metric_of(name: str, sums: Sums, values: int) -> Floats:
    """A metric from sums, (draws,). With more than two values F1, precision, recall are macro averages.

    ``brier`` is the mean squared distance to the label (0-1 for two values, 0-2 for more); ``calibration_error`` the
    expected calibration error over equally wide bins, averaged over values; nothing to divide by counts as 0.
    """
    if name in ("brier", "log_loss"):
        return sums[name] / sums["n"]
    by_value: Callable[[int], Floats] = {
        "f1": lambda v: _share(2 * sums[f"hit{v}"], sums[f"true{v}"] + sums[f"said{v}"]),
        "precision": lambda v: _share(sums[f"hit{v}"], sums[f"said{v}"]),
        "recall": lambda v: _share(sums[f"hit{v}"], sums[f"true{v}"]),
        "calibration_error": lambda v: (
            sum(np.abs(gap) for key, gap in sums.items() if key.startswith(f"gap{v}/")) / sums["n"]
        ),
    }[name]
    averaged: Floats = np.mean([by_value(value) for value in _scored(values)], axis=0)
    return averaged


def _share(part: Floats, whole: Floats) -> Floats:
    return np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)
