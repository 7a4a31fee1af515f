"""The four kinds of conditional distribution (SimSUM, Section 2.1) as data, and their evaluation as arrays.

The axes of every array are the node's parents in order; the values of a categorical node come last.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import gammainc, gammaln

Floats = npt.NDArray[np.float64]
Effects = Mapping[str, tuple[float, ...]]
"""By parent, one number for each of its values; 0 for the first, the reference."""


@dataclass(frozen=True, eq=False)
class Table:
    """A conditional probability table, shape (cards of the parents ..., card); rows sum to 1."""

    probabilities: Floats


@dataclass(frozen=True)
class NoisyOr:
    """P(second value) = 1 - (1 - leak) * product of (1 - p) over present causes (Equation 2)."""

    leak: float
    causes: Effects


@dataclass(frozen=True)
class Regression:
    """A linear predictor: bias plus one coefficient for each value of each parent."""

    bias: float
    coefficients: Effects


@dataclass(frozen=True)
class Logistic:
    """P(second value) = sigmoid(linear predictor) (Equation 7)."""

    model: Regression


@dataclass(frozen=True)
class Poisson:
    """A count with rate exp(linear predictor); one model for each value of the parent ``by`` (Equations 8 and 9).

    ``models`` has one entry, under "", where ``by`` is None. ``top`` is the last category of a count in categories:
    "top or more" (Appendix F.1); None for the unbounded count.
    """

    by: str | None
    models: Mapping[str, Regression]
    top: int | None = None


Distribution = Table | NoisyOr | Logistic | Poisson


def predictor(base: float, effects: Effects, parents: Sequence[str], cards: Sequence[int]) -> Floats:
    """``base`` plus the effects of the parents' values, shape ``cards``; parents without effects add 0."""
    total = np.full(tuple(cards), base, dtype=float)
    for axis, parent in enumerate(parents):
        if parent in effects:
            shape = [1] * len(parents)
            shape[axis] = cards[axis]
            total = total + np.asarray(effects[parent], dtype=float).reshape(shape)
    return total


def poisson_rates(
    node: Poisson, parents: Sequence[str], cards: Sequence[int], values: Mapping[str, Sequence[str]]
) -> Floats:
    """The Poisson rate for each combination of parent values, shape ``cards``."""
    if node.by is None:
        model = node.models[""]
        return np.exp(predictor(model.bias, model.coefficients, parents, cards))
    axis = list(parents).index(node.by)
    models = [node.models[value] for value in values[node.by]]
    stacked = [predictor(m.bias, m.coefficients, parents, cards) for m in models]
    return np.exp(np.stack([eta.take(i, axis=axis) for i, eta in enumerate(stacked)], axis=axis))


def log_poisson(rates: Floats, counts: npt.ArrayLike) -> Floats:
    """log P(count | rate); ``rates`` and ``counts`` broadcast."""
    k = np.asarray(counts, dtype=float)
    return k * np.log(rates) - rates - gammaln(k + 1)


def log_poisson_categories(rates: Floats, top: int) -> Floats:
    """log P of the categories 0, 1, ..., top - 1, "top or more", on a new last axis (Appendix F.1)."""
    below = log_poisson(rates[..., None], np.arange(top))
    tail = _log_tail(rates, top)
    return np.concatenate([below, tail[..., None]], axis=-1)


def _log_tail(rates: Floats, top: int) -> Floats:
    # P(count >= top) is the regularised lower incomplete gamma function, which loses no digits as 1 - sum would.
    with np.errstate(divide="ignore"):
        return np.log(gammainc(top, rates)) if top > 0 else np.zeros_like(rates)


def log_two_values(node: NoisyOr | Logistic, parents: Sequence[str], cards: Sequence[int]) -> Floats:
    """log P of both values of a noisy-OR or logistic node, shape (cards ..., 2)."""
    with np.errstate(divide="ignore"):
        if isinstance(node, NoisyOr):
            losses = {parent: tuple(-np.log1p(-p) for p in ps) for parent, ps in node.causes.items()}
            hazard = predictor(-np.log1p(-node.leak), losses, parents, cards)
            return np.stack([-hazard, np.log(-np.expm1(-hazard))], axis=-1)
        eta = predictor(node.model.bias, node.model.coefficients, parents, cards)
        return np.stack([-np.logaddexp(0, eta), -np.logaddexp(0, -eta)], axis=-1)
