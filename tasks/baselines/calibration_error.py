"""Expected calibration error: the mean distance between predicted and observed frequency over bins of probabilities.

The distance that is observed in a bin is too large by chance alone, and all the more with few records. The estimate
takes off what a normal error of the bin's size adds to a distance as large as the observed one (Kumar, Liang and Ma
2019, "Verified Uncertainty Calibration", Section 5, for the absolute error). Its interval begins where chance would
explain the rest, and is 0 there for a model whose distances chance explains altogether.
"""

from collections.abc import Sequence

import numpy as np
from scipy.stats import norm, t

from tasks.baselines.targets import Floats, Integers
from tasks.statistics.intervals import FEWEST, LEVEL


def bin_numbers(probabilities: Floats, bins: int) -> Integers:
    """The bin of each probability (n,) among ``bins`` equally wide ones; 1 falls in the last."""
    return np.minimum((probabilities * bins).astype(np.int64), bins - 1)


def calibration_error(labels: Integers, probabilities: Sequence[Floats], bins: int) -> tuple[float, float, float]:
    """Mean over values and seeds, between 0 and 1, with its interval.

    ``labels`` (n,); ``probabilities`` (n, values) of each seed. Of two values, the second alone counts. The errors of
    values and seeds, which share their records, are taken as wholly dependent.
    """
    values = range(1, 2) if probabilities[0].shape[1] == 2 else range(probabilities[0].shape[1])
    found = [_of_value(labels == value, one[:, value], bins) for one in probabilities for value in values]
    value, low, high = np.mean(found, axis=0).tolist()
    return (value, low, high) if len(labels) >= FEWEST else (value, np.nan, np.nan)


def _of_value(labels: Integers, predicted: Floats, bins: int) -> tuple[float, float, float]:
    """Estimate, low and high for one value: ``labels`` (n,) of 0 and 1, and its probabilities ``predicted`` (n,)."""
    n, bin_of, gap = len(labels), bin_numbers(predicted, bins), predicted - labels
    distances = np.abs(np.bincount(bin_of, gap, minlength=bins)) / n
    squares = np.bincount(bin_of, gap**2, minlength=bins)
    errors = np.sqrt(squares) / n
    value = max(0.0, float((2 * distances - _folded(distances, errors)).sum()))
    expected = np.bincount(bin_of, predicted * (1 - predicted), minlength=bins)  # of the squares, if calibrated
    chance = np.sqrt(np.maximum(squares, expected)) / n
    quantile = float(t.isf((1 - LEVEL) / 2, max(n - 1, 1)))
    most = chance.sum() * np.sqrt(2 / np.pi) + quantile * np.sqrt((chance**2).sum() * (1 - 2 / np.pi))
    low = min(value, max(0.0, float(distances.sum() - most)))
    return value, low, min(1.0, value + quantile * float(np.sqrt((errors**2).sum())))


def _folded(means: Floats, deviations: Floats) -> Floats:
    """Mean of the absolute value of normal variables, (bins,) (Leone, Nelson and Nottingham 1961)."""
    z = np.divide(means, deviations, out=np.zeros_like(means), where=deviations > 0)
    return np.asarray(2 * deviations * norm.pdf(z) + means * (1 - 2 * norm.cdf(-z)))
