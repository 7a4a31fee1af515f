"""Calibration of probabilities: recalibrated or pooled by a softmax regression on their logarithms, and its error.

Calibration is Platt scaling (Platt 1999; one slope for all values of a symptom). The pool is a logarithmic opinion pool
(Genest and Zidek 1986). Each has a design (n, values, parameters) of `softmax(design @ parameters)`.

The expected calibration error is the mean distance between predicted and observed frequency over bins of probabilities.
The distance that is observed in a bin is too large by chance alone, and all the more with few records. The estimate
takes off what a normal error of the bin's size adds to a distance as large as the observed one (Kumar, Liang and Ma
2019, "Verified Uncertainty Calibration", Section 5, for the absolute error). Its interval begins where chance would
explain the rest, and is 0 there for a model whose distances chance explains altogether.
"""

from collections.abc import Sequence

import numpy as np
from scipy.optimize import minimize
from scipy.special import softmax
from scipy.stats import norm, t

from tasks.baselines.targets import Floats, Integers
from tasks.statistics.intervals import FEWEST, LEVEL

_TINY = 1e-9
_TINY_IN_POOL = 1e-6
"""Probabilities are clipped to these, so that no model can rule a value out."""


def apply(design: Floats, parameters: Floats) -> Floats:
    """Probabilities, (n, values)."""
    return np.asarray(softmax(design @ parameters, axis=1))


def fit(design: Floats, labels: Integers, centre: Floats) -> Floats:
    """Parameters of highest likelihood for ``labels`` (n,), with a unit normal prior around ``centre`` (parameters,).

    The prior matters where classes are separable, whose slope would grow without bound, and with few records.
    """
    rows = np.arange(len(labels))

    def loss(parameters: Floats) -> tuple[float, Floats]:
        fitted, distance = apply(design, parameters), parameters - centre
        value = -np.log(np.clip(fitted[rows, labels], _TINY, 1)).sum() + 0.5 * (distance**2).sum()
        fitted[rows, labels] -= 1
        return float(value), np.tensordot(fitted, design, axes=2) + distance

    return np.asarray(minimize(loss, centre, jac=True, method="L-BFGS-B").x)


def calibration_design(probabilities: Floats) -> Floats:
    """One slope of the log probabilities (n, values), and a shift of each value but the first."""
    logs = np.log(np.clip(probabilities, _TINY, 1))
    shifts = np.broadcast_to(np.eye(logs.shape[1])[:, 1:], (*logs.shape, logs.shape[1] - 1))
    return np.concatenate([logs[..., None], shifts], axis=2)


def fit_calibration(probabilities: Floats, labels: Integers) -> Floats:
    """Slope and shifts around those that change nothing, (values,)."""
    return fit(calibration_design(probabilities), labels, np.eye(probabilities.shape[1])[0])


def calibrated(parameters: Floats, probabilities: Floats) -> Floats:
    """Calibrated probabilities, (n, values)."""
    return apply(calibration_design(probabilities), parameters)


def pool_design(*models: Floats) -> Floats:
    """Log odds against the first value by each model's probabilities (n, values), and a shift, for each other value.

    A value other than the first has parameters of its own for all ``models * (values - 1)`` log odds.
    """
    logs = [np.log(np.clip(probabilities, _TINY_IN_POOL, 1)) for probabilities in models]
    n, values = logs[0].shape
    odds = np.concatenate([*(log[:, 1:] - log[:, :1] for log in logs), np.ones((n, 1))], axis=1)
    design = np.zeros((n, values, values - 1, odds.shape[1]))
    for value in range(1, values):
        design[:, value, value - 1] = odds
    return design.reshape(n, values, -1)


def fit_pool(design: Floats, labels: Integers) -> Floats:
    """The pool's parameters, centred on the last model alone, so that few records leave its probabilities unchanged."""
    others = design.shape[1] - 1
    centre = np.zeros((others, design.shape[2] // others))
    centre[:, -1 - others : -1] = np.eye(others)
    return fit(design, labels, centre.ravel())


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
