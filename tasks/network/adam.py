"""SimSUM's optimiser (Appendix F.1): Adam (Kingma and Ba 2015) on shuffled batches with random initialisation."""

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from schemas.params.network import Adam
from tasks.network.distributions import Floats
from tasks.network.likelihoods import NOISY_OR, Likelihood

_DECAY, _SQUARE_DECAY, _EPSILON = 0.9, 0.999, 1e-8  # Kingma and Ba's defaults
_HIGHEST = 30.0  # keeps exp of a predictor finite


def descend(
    design: Floats,
    combinations: npt.NDArray[np.int64],
    codes: npt.NDArray[np.int64],
    likelihood: Likelihood,
    settings: Adam,
    random: np.random.Generator,
) -> Floats:
    """Parameters (parameters,) after the set number of epochs over the records.

    ``combinations`` (records,) is each record's row in ``design``, ``codes`` (records,) its value. Noisy-OR
    probabilities are optimised on the logit scale and initialised uniformly in (0, 1); regression coefficients are
    initialised from a standard normal distribution.
    """
    bounded = likelihood is NOISY_OR
    size = design.shape[1]
    raw = np.asarray(random.logistic(size=size) if bounded else random.standard_normal(size))
    mean: Floats = np.zeros(size)
    square: Floats = np.zeros(size)
    updates = 0
    epochs = settings.noisy_or_epochs if bounded else settings.regression_epochs
    for _ in range(epochs):
        shuffled = random.permutation(len(codes))
        for start in range(0, len(codes), settings.batch_size):
            rows = shuffled[start : start + settings.batch_size]
            gradient = _gradient(design[combinations[rows]], codes[rows], likelihood, raw, bounded)
            updates += 1
            mean = _DECAY * mean + (1 - _DECAY) * gradient
            square = _SQUARE_DECAY * square + (1 - _SQUARE_DECAY) * gradient**2
            unbiased = mean / (1 - _DECAY**updates), square / (1 - _SQUARE_DECAY**updates)
            raw = raw - settings.learning_rate * unbiased[0] / (np.sqrt(unbiased[1]) + _EPSILON)
    return np.logaddexp(0, raw) if bounded else raw


def _gradient(
    design: Floats, codes: npt.NDArray[np.int64], likelihood: Likelihood, raw: Floats, bounded: bool
) -> Floats:
    """Gradient of the batch's mean negative log-likelihood."""
    w = np.logaddexp(0, raw) if bounded else raw  # softplus(logit p) = -log(1 - p)
    eta = np.minimum(design @ w, _HIGHEST)
    first = likelihood.terms(eta, np.ones(len(codes)), codes.astype(float))[1]
    slope = -(first @ design) / len(codes)
    return slope * expit(raw) if bounded else slope
