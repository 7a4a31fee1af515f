"""Calibration of a classifier's probabilities by Platt scaling (Platt 1999; one slope for all of more values)."""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from tasks.baselines.arrays import Floats, Integers

TINY = 1e-9


@dataclass(frozen=True)
class Calibration:
    """log p'(s) = slope * log p(s) + shifts[s] + constant."""

    slope: float
    shifts: Floats

    def apply(self, probabilities: Floats) -> Floats:
        """Calibrated probabilities, (n, values)."""
        return normalise(self.slope * np.log(np.clip(probabilities, TINY, 1)) + self.shifts)


def normalise(logs: Floats) -> Floats:
    """Probabilities from logs up to a constant, (n, values)."""
    raised = np.exp(logs - logs.max(axis=1, keepdims=True))
    return raised / raised.sum(axis=1, keepdims=True)


def fit_calibration(probabilities: Floats, labels: Integers) -> Calibration:
    """The slope and shifts of highest likelihood for ``labels`` (n,), with a unit normal prior around the identity.

    The prior matters only where the classes are separable and the slope would grow without bound.
    """
    logs = np.log(np.clip(probabilities, TINY, 1))
    values, rows = logs.shape[1], np.arange(len(labels))

    def loss(parameters: Floats) -> tuple[float, Floats]:
        slope, shifts = parameters[0], np.concatenate([[0.0], parameters[1:]])
        fitted = normalise(slope * logs + shifts)
        error = fitted.copy()
        error[rows, labels] -= 1
        prior = parameters - np.eye(values)[0]
        value = -np.log(np.clip(fitted[rows, labels], TINY, 1)).sum() + 0.5 * (prior**2).sum()
        return float(value), np.concatenate([[(error * logs).sum()], error[:, 1:].sum(axis=0)]) + prior

    found = minimize(loss, np.eye(values)[0], jac=True, method="L-BFGS-B")
    return Calibration(float(found.x[0]), np.concatenate([[0.0], found.x[1:]]))
