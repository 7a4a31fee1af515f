"""Logarithmic opinion pool: several models' probabilities combined with fitted weights (Genest and Zidek 1986)."""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from tasks.baselines.arrays import Floats, Integers
from tasks.baselines.calibration import normalise

_TINY = 1e-6
"""Probabilities are clipped to this, so that no model can rule a value out."""


@dataclass(frozen=True)
class Pool:
    """log p(s) = inputs @ weights[:, s] + shifts[s] + constant, with 0 for the reference value.

    ``weights`` (inputs, values - 1), ``shifts`` (values - 1,); inputs as from `pool_inputs`.
    """

    weights: Floats
    shifts: Floats

    def apply(self, inputs: Floats) -> Floats:
        """Pooled probabilities, (n, values)."""
        logs = inputs @ self.weights + self.shifts
        return normalise(np.concatenate([np.zeros((len(logs), 1)), logs], axis=1))


def pool_inputs(*models: Floats) -> Floats:
    """Log odds against the reference value, (n, models * (values - 1)), of each model's probabilities (n, values)."""
    logs = [np.log(np.clip(probabilities, _TINY, 1)) for probabilities in models]
    return np.concatenate([log[:, 1:] - log[:, :1] for log in logs], axis=1)


def fit_pool(inputs: Floats, labels: Integers, values: int) -> Pool:
    """The pool of highest likelihood for ``labels`` (n,): multinomial logistic regression on `pool_inputs`.

    A unit normal prior is centred on the last model alone, so that few records leave its probabilities unchanged.
    """
    rows, size = np.arange(len(labels)), inputs.shape[1]
    centre = np.zeros((size + 1, values - 1))
    centre[size - (values - 1) : size] = np.eye(values - 1)
    design = np.concatenate([inputs, np.ones((len(inputs), 1))], axis=1)

    def loss(flat: Floats) -> tuple[float, Floats]:
        parameters = flat.reshape(centre.shape)
        fitted = Pool(parameters[:-1], parameters[-1]).apply(inputs)
        error = fitted.copy()
        error[rows, labels] -= 1
        distance = parameters - centre
        value = -np.log(np.clip(fitted[rows, labels], np.finfo(float).tiny, 1)).sum() + 0.5 * (distance**2).sum()
        return float(value), (design.T @ error[:, 1:] + distance).ravel()

    found = minimize(loss, centre.ravel(), jac=True, method="L-BFGS-B").x.reshape(centre.shape)
    return Pool(found[:-1], found[-1])
