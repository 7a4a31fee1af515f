"""Variable elimination on factors with a leading row axis, in log space."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from tasks.network.distributions import Floats


@dataclass(frozen=True, eq=False)
class Factor:
    """Log values of a function of the variables ``axes``, shape (rows or 1, cards of ``axes`` ...)."""

    axes: tuple[str, ...]
    logs: Floats


def plan(
    scopes: Sequence[tuple[str, ...]], hidden: Sequence[str], cards: Mapping[str, int]
) -> list[tuple[str, tuple[str, ...]]]:
    """A greedy elimination order: at each step the variable with the smallest product, and the scope of that product.

    Ties are broken by the order of ``hidden``. ``cards`` is the number of values of each variable in ``scopes``.
    """
    live, left, steps = [frozenset(scope) for scope in scopes], list(hidden), []
    while left:
        products = {name: frozenset().union(*[scope for scope in live if name in scope]) for name in left}
        name = min(left, key=lambda n: prod(cards[v] for v in products[n]))
        steps.append((name, tuple(sorted(products[name]))))
        live = [scope for scope in live if name not in scope] + [products[name] - {name}]
        left.remove(name)
    return steps


def largest_factor(steps: Sequence[tuple[str, tuple[str, ...]]], cards: Mapping[str, int]) -> int:
    """Number of cells of the largest product in an elimination order, for one row."""
    return max((prod(cards[v] for v in scope) for _, scope in steps), default=1)


def eliminate(factors: Sequence[Factor], hidden: Sequence[str], keep: tuple[str, ...]) -> Floats:
    """Sum ``hidden`` out of the product of ``factors``; log values of shape (rows or 1, cards of ``keep`` ...)."""
    cards = {name: size for f in factors for name, size in zip(f.axes, f.logs.shape[1:], strict=True)}
    live = list(factors)
    for name, scope in plan([f.axes for f in factors], hidden, cards):
        involved = [f for f in live if name in f.axes]
        rest = tuple(v for v in scope if v != name)
        summed = _log_sum(_multiply(involved, (*rest, name)))
        live = [f for f in live if name not in f.axes] + [Factor(rest, summed)]
    return _multiply(live, keep)


def _multiply(factors: Sequence[Factor], axes: tuple[str, ...]) -> Floats:
    """Product of factors with the given axes, which include the axes of every factor."""
    total: Floats = np.zeros((1,) * (len(axes) + 1))
    for factor in factors:
        order = [factor.axes.index(name) + 1 for name in axes if name in factor.axes]
        sizes = iter(np.transpose(factor.logs, [0, *order]).shape[1:])
        shape = [next(sizes) if name in factor.axes else 1 for name in axes]
        total = total + np.transpose(factor.logs, [0, *order]).reshape(factor.logs.shape[0], *shape)
    return total


def _log_sum(logs: Floats) -> Floats:
    """log of the sum of exponentials over the last axis; -inf where all are."""
    highest = logs.max(axis=-1, keepdims=True)
    highest = np.where(np.isfinite(highest), highest, 0.0)
    with np.errstate(divide="ignore"):
        return np.log(np.exp(logs - highest).sum(axis=-1)) + highest[..., 0]
