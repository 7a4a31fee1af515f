"""Log-likelihoods of the parametric nodes. Each is concave in its linear predictor, so the optimum is unique.

The data are counts: for ``n`` records with one combination of parent values, ``s`` is the sum of the node's codes (the
number with the second value, or the total number of days). Every function broadcasts and returns the log-likelihood, up
to a constant, with its first and second derivative with respect to the predictor.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from tasks.network.distributions import Distribution, Floats, Logistic, NoisyOr, Poisson

Terms = tuple[Floats, Floats, Floats]


@dataclass(frozen=True)
class Likelihood:
    """A family: its terms, the lower bound and initial value of its parameters, and their reported scale."""

    terms: Callable[[Floats, Floats, Floats], Terms]
    lowest: float
    start: float
    to_reported: Callable[[Floats], Floats]


def logistic_terms(eta: Floats, n: Floats, s: Floats) -> Terms:
    """Equation 7: s of n have the second value with probability sigmoid(eta)."""
    p = expit(eta)
    return s * eta - n * np.logaddexp(0, eta), s - n * p, -n * p * (1 - p)


def poisson_terms(eta: Floats, n: Floats, s: Floats) -> Terms:
    """Equations 8 and 9: n counts with rate exp(eta) that sum to s."""
    rate = n * np.exp(eta)
    return s * eta - rate, s - rate, -rate


def noisy_or_terms(eta: Floats, n: Floats, s: Floats) -> Terms:
    """Equation 2: s of n have the second value with probability 1 - exp(-eta), eta >= 0."""
    some = s > 0
    odds = np.expm1(eta)
    value = np.where(some, s * np.log(-np.expm1(-eta)), 0.0) - (n - s) * eta
    return value, np.where(some, s / odds, 0.0) - (n - s), np.where(some, -s * (odds + 1) / odds**2, 0.0)


LOGISTIC = Likelihood(logistic_terms, -np.inf, 0.0, lambda w: w)
POISSON = Likelihood(poisson_terms, -np.inf, 0.0, lambda w: w)
NOISY_OR = Likelihood(noisy_or_terms, 0.0, 0.1, lambda w: -np.expm1(-w))


def likelihood_of(distribution: Distribution) -> Likelihood:
    """The family of a parametric node."""
    if isinstance(distribution, NoisyOr):
        return NOISY_OR
    if isinstance(distribution, Poisson):
        return POISSON
    assert isinstance(distribution, Logistic)
    return LOGISTIC
