"""Fits the parameters of a network of known structure to records (SimSUM, Appendix F.1).

The log-likelihood of each parametric node is concave in its linear predictor, so the optimum is unique. The data are
counts: for ``n`` records with one combination of parent values, ``s`` is the sum of the node's codes (the number with
the second value, or the total number of days). Optimisers: projected Newton steps (Bertsekas 1982), for many data sets
at once; or SimSUM's, Adam (Kingma and Ba 2015) on shuffled batches with random initialisation.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from zlib import crc32

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import expit

from schemas.errors import NetworkError
from schemas.params.records import Adam, Fit
from tasks.network.coding import Codes, combine, design_of, encode, with_parameters
from tasks.network.graph import (
    Distribution,
    Floats,
    Logistic,
    NetworkDefinition,
    NoisyOr,
    Poisson,
    Table,
    Variable,
    in_categories,
)

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


_FINITE = 300.0
"""A predictor above which no value of a node changes any more; the square of its exponential is still a number."""


def noisy_or_terms(eta: Floats, n: Floats, s: Floats) -> Terms:
    """Equation 2: s of n have the second value with probability 1 - exp(-eta), eta >= 0."""
    some = s > 0
    odds = np.expm1(np.minimum(eta, _FINITE))
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


RIDGE = 1e-6
"""Weight of a ridge penalty. Too small to change a parameter in the digits shown, it keeps parameters without data (a
parent value that no record has) at 0 and parameters with an infinite estimate finite."""

_STEPS, _HALVINGS, _TOLERANCE = 200, 40, 1e-10


def maximise(design: Floats, n: Floats, s: Floats, likelihood: Likelihood) -> Floats:
    """The parameters that maximise the likelihood, shape (data sets, parameters).

    ``design`` (combinations, parameters); ``n`` and ``s`` (data sets, combinations) as in `tasks.network.fitting`.
    """
    w = np.full((len(n), design.shape[1]), likelihood.start)
    products = (design[:, :, None] * design[:, None, :]).reshape(len(design), -1)
    moving = np.arange(len(n))
    with np.errstate(all="ignore"):  # too long a step gives infinities and is halved
        for _ in range(_STEPS):
            step = _step(design, products, n[moving], s[moving], likelihood, w[moving])
            w[moving], moved = _search(design, n[moving], s[moving], likelihood, w[moving], step)
            moving = moving[moved > _TOLERANCE]
            if moving.size == 0:
                break
    return w


def _step(design: Floats, products: Floats, n: Floats, s: Floats, likelihood: Likelihood, w: Floats) -> Floats:
    _, first, second = likelihood.terms(w @ design.T, n, s)
    gradient = first @ design - RIDGE * w
    size = design.shape[1]
    hessian = (-second @ products).reshape(-1, size, size) + RIDGE * np.eye(size)
    free = (w > likelihood.lowest) | (gradient > 0)
    both = free[:, :, None] & free[:, None, :]
    hessian = np.where(both, hessian, np.eye(size))
    solved = np.linalg.solve(hessian, np.where(free, gradient, 0.0)[:, :, None])[:, :, 0]
    return np.asarray(solved, dtype=float)


def _search(
    design: Floats, n: Floats, s: Floats, likelihood: Likelihood, w: Floats, step: Floats
) -> tuple[Floats, Floats]:
    """Halve each data set's step until its likelihood does not decrease.

    Returns the new parameters and the largest change of each data set.
    """
    before = _objective(design, n, s, likelihood, w)
    best, waiting, length = w.copy(), np.arange(len(w)), 1.0
    for _ in range(_HALVINGS):
        tried = np.maximum(w[waiting] + length * step[waiting], likelihood.lowest)
        after = _objective(design, n[waiting], s[waiting], likelihood, tried)
        good = after >= before[waiting]
        best[waiting[good]] = tried[good]
        waiting, length = waiting[~good], length / 2
        if waiting.size == 0:
            break
    return best, np.abs(best - w).max(axis=1)


def _objective(design: Floats, n: Floats, s: Floats, likelihood: Likelihood, w: Floats) -> Floats:
    value = likelihood.terms(w @ design.T, n, s)[0].sum(axis=1) - RIDGE / 2 * (w**2).sum(axis=1)
    return np.where(np.isnan(value), -np.inf, value)


FIT_STREAM = 2

_DECIMALS = 9
"""Decimals of fitted parameters. Later digits differ between processors, whose linear algebra sums in another order;
standard errors are ten million times as large."""


def fit(definition: NetworkDefinition, records: pd.DataFrame, params: Fit, *, seed: int = 0) -> NetworkDefinition:
    """The network of ``definition`` with parameters fitted to ``records``.

    Probability tables are counts with one added to each (the K2 prior; Cooper and Herskovits 1992), so that a
    combination without records gets a uniform distribution; noisy-OR, logistic and Poisson parameters are maximum
    likelihood estimates found by ``params.optimiser``. A leak whose estimate is 0 would make the node's value
    impossible without a cause: it becomes 1 / (n + 2), Laplace's rule of succession for n records without a cause, as
    the K2 prior does in a table. Counts become categories up to the highest count observed, the last one open. ``seed``
    is used by Adam only.

    Raises TableError for a missing column, NetworkError for an unknown value or no records.
    """
    if records.empty:
        raise NetworkError(f"network {definition.name}: no records to fit")
    codes = encode(definition, records, definition.variables)
    fitted = [_fit_node(definition, name, codes, params, seed) for name in definition.variables]
    tops = {name: max(1, int(codes[name].max())) for name in definition.variables if definition.is_count(name)}
    network = definition.with_variables(fitted, name=f"{definition.name}, fitted")
    return in_categories(network, tops)


def _fit_node(definition: NetworkDefinition, name: str, codes: Codes, params: Fit, seed: int) -> Variable:
    node = definition.variable(name)
    if isinstance(node.distribution, Table):
        family = (*node.parents, name)
        cards = definition.cards(family)
        cells = combine(definition, family, codes, len(codes[name]))
        table = np.bincount(cells, minlength=int(np.prod(cards))).reshape(cards) + 1.0
        return replace(node, distribution=Table(table / table.sum(axis=-1, keepdims=True)))
    design = design_of(definition, name)
    likelihood = likelihood_of(node.distribution)
    combinations = combine(definition, definition.parents(name), codes, len(codes[name]))
    if params.optimiser == "adam":
        random = np.random.default_rng([seed, FIT_STREAM, crc32(name.encode())])
        w = descend(design.matrix, combinations, codes[name], likelihood, params.adam, random)
    else:
        n, s = totals(combinations, codes[name], len(design.matrix))
        w = np.round(maximise(design.matrix, n[None], s[None], likelihood)[0], _DECIMALS)
        if likelihood is NOISY_OR and w[0] == 0:  # the leak, and in n[0] the records without a cause
            w[0] = -np.log1p(-1 / (n[0] + 2))
    return with_parameters(node, design.columns, likelihood.to_reported(w))


def totals(combinations: npt.NDArray[np.int64], codes: npt.NDArray[np.int64], rows: int) -> tuple[Floats, Floats]:
    """Number of records and sum of codes for each combination, shape (rows,) each."""
    n = np.bincount(combinations, minlength=rows).astype(float)
    return n, np.bincount(combinations, weights=codes, minlength=rows).astype(float)
