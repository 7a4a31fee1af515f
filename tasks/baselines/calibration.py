"""Probabilities recalibrated, and pooled, by a softmax regression on their logarithms.

Calibration is Platt scaling (Platt 1999; one slope for all values of a symptom). The pool is a logarithmic opinion pool
(Genest and Zidek 1986). Each has a design (n, values, parameters) of `softmax(design @ parameters)`.
"""

import numpy as np
from scipy.optimize import minimize
from scipy.special import softmax

from tasks.baselines.targets import Floats, Integers

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
