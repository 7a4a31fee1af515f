"""Exact inference for many rows at once: variable elimination (Zhang and Poole 1994) with a row axis, in log space.

All rows share one elimination order; factors are arrays of log probabilities of shape (rows or 1, values of the
unobserved variables ...). In log space, as the likelihood of a long stay at home underflows otherwise.

Soft evidence on several variables: an uncertain source reports a distribution for each of them. Of all joint
distributions with the reported marginals, the one closest to the prior in relative entropy multiplies the prior by one
factor per variable (Csiszar 1975), found by iterative proportional fitting (Deming and Stephan 1940). The factors are
the likelihoods of the source's report, so they also update the distribution given further evidence (virtual evidence;
Pearl 1988, Section 2.2.2). Arrays of joint distributions have shape (n, cards ...), one axis per variable.
"""

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from math import prod

import numpy as np
import numpy.typing as npt
import pandas as pd

from schemas.errors import NetworkError
from tasks.network.coding import Codes, encode
from tasks.network.graph import Floats, NetworkDefinition, log_poisson


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


CHUNK_CELLS = 4_000_000
"""Maximum number of cells of a factor: 32 MB in double precision."""


def posterior(network: NetworkDefinition, evidence: pd.DataFrame, target: str) -> Floats:
    """P(target | evidence) for each row of ``evidence``, shape (rows, values of the target); rows sum to 1.

    The columns of ``evidence`` are any variables but the target; all others are summed out. Unobserved counts cost
    nothing, as they have no children.

    Raises NetworkError for an unknown variable or value, and for evidence that has probability zero.
    """
    return joint_posterior(network, evidence, [target])


def joint_posterior(network: NetworkDefinition, evidence: pd.DataFrame, targets: Sequence[str]) -> Floats:
    """P(targets | evidence) for each row of ``evidence``, shape (rows, cards of ``targets`` ...); as `posterior`.

    Equal rows are computed once.
    """
    names = [str(name) for name in evidence.columns]
    for target in targets:
        if target in names:
            raise NetworkError(f"network {network.name}: {target} is both the target and part of the evidence")
    network.cards(targets)
    codes = encode(network, evidence, names)
    matrix = np.stack(list(codes.values()), axis=1) if names else np.zeros((len(evidence), 0), dtype=np.int64)
    distinct, first, inverse = _distinct_rows(matrix)
    relevant = network.ancestors([*targets, *names]) | {*targets, *names}
    result = np.empty((len(distinct), *network.cards(targets)))
    step = _rows_at_once(network, relevant, {name: distinct[:1, i] for i, name in enumerate(names)}, tuple(targets))
    for start in range(0, len(distinct), step):
        part = {name: distinct[start : start + step, i] for i, name in enumerate(names)}
        logs = _log_joint(network, relevant, part, tuple(targets))
        totals = np.logaddexp.reduce(logs.reshape(len(logs), -1), axis=1)
        _reject_impossible(network, part, totals, first[start : start + step], relevant)
        result[start : start + step] = np.exp(logs - totals.reshape(-1, *[1] * len(targets)))
    return result[inverse]


def joint(network: NetworkDefinition, names: Sequence[str]) -> Floats:
    """P(names), shape (cards of ``names`` ...), all other variables summed out."""
    relevant = network.ancestors(names) | set(names)
    return np.exp(_log_joint(network, relevant, {}, tuple(names))[0])


def log_likelihood(network: NetworkDefinition, records: pd.DataFrame) -> Floats:
    """log P(record) for each row of complete records, shape (rows,); -inf for an impossible record."""
    codes = encode(network, records, network.variables)
    total = np.zeros(len(records))
    for name in network.variables:
        total = total + reduced(network, name, codes).logs
    return total


def reduced(network: NetworkDefinition, name: str, codes: Codes) -> Factor:
    """The factor log P(name | parents) with the observed variables of each row fixed."""
    parents = network.parents(name)
    if name in codes and network.is_unbounded(name):
        rates = _take(parents, network.rates(name), codes)
        counts = codes[name].reshape(-1, *[1] * len(rates.axes))
        return Factor(rates.axes, log_poisson(rates.logs, counts))
    return _take((*parents, name), network.log_conditional(name), codes)


def _take(axes: tuple[str, ...], array: Floats, codes: Codes) -> Factor:
    observed = [name for name in axes if name in codes]
    kept = tuple(name for name in axes if name not in codes)
    if not observed:
        return Factor(kept, array[None])
    ordered = array.transpose([axes.index(name) for name in (*observed, *kept)])
    return Factor(kept, ordered[tuple(codes[name] for name in observed)])


def _factors(
    network: NetworkDefinition, relevant: Set[str], codes: Codes, keep: tuple[str, ...]
) -> tuple[list[Factor], list[str]]:
    """The factors of ``relevant`` variables, and the variables to eliminate."""
    names = [name for name in network.order if name in relevant]
    hidden = [name for name in names if name not in codes and name not in keep]
    return [reduced(network, name, codes) for name in names], hidden


def _log_joint(network: NetworkDefinition, relevant: Set[str], codes: Codes, keep: tuple[str, ...]) -> Floats:
    """log P(keep, evidence), shape (rows or 1 without evidence, cards of ``keep`` ...)."""
    result = eliminate(*_factors(network, relevant, codes, keep), keep)
    rows = len(next(iter(codes.values()))) if codes else 1
    return np.broadcast_to(result, (rows, *result.shape[1:]))


def _rows_at_once(network: NetworkDefinition, relevant: Set[str], row: Codes, keep: tuple[str, ...]) -> int:
    """Rows like ``row`` for which no factor has more than CHUNK_CELLS cells."""
    factors, hidden = _factors(network, relevant, row, keep)
    cards = {name: size for f in factors for name, size in zip(f.axes, f.logs.shape[1:], strict=True)}
    products = [scope for _, scope in plan([f.axes for f in factors], hidden, cards)]
    return max(1, CHUNK_CELLS // max(prod(cards[name] for name in scope) for scope in (*products, keep)))


def _distinct_rows(
    matrix: npt.NDArray[np.int64],
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Distinct rows, the index of the first occurrence of each, and each row's distinct row."""
    if matrix.shape[1] == 0:
        return matrix[:1], np.zeros(min(1, len(matrix)), dtype=np.int64), np.zeros(len(matrix), dtype=np.int64)
    distinct, first, inverse = np.unique(matrix, axis=0, return_index=True, return_inverse=True)
    return distinct, first.astype(np.int64), inverse.reshape(-1).astype(np.int64)


def _reject_impossible(
    network: NetworkDefinition, codes: Codes, totals: Floats, first: npt.NDArray[np.int64], relevant: Set[str]
) -> None:
    """Raise NetworkError for the first impossible row, with a probability of the network that is 0, if there is one."""
    impossible = np.flatnonzero(np.isneginf(totals))
    if impossible.size == 0:
        return
    worst = impossible[np.argmin(first[impossible])]
    row = {name: int(column[worst]) for name, column in codes.items()}

    def shown(names: Iterable[str]) -> str:
        values = {name: code if network.is_count(name) else network.values(name)[code] for name, code in row.items()}
        return ", ".join(f"{name}={values[name]}" for name in names)

    cause = ""
    for name in network.order:
        parents = network.parents(name)
        observed = name in relevant and row.keys() >= {*parents, name}
        if observed and np.isneginf(reduced(network, name, codes).logs[worst]):
            cause = f": P({shown([name])}{' | ' + shown(parents) if parents else ''}) is 0"
            break
    raise NetworkError(
        f"network {network.name}: row {first[worst]}: the evidence {shown(codes)} has probability zero"
        f"{cause}; correct the evidence, or the zero in the network file"
    )


_SWEEPS, _TOLERANCE = 100, 1e-9
_TINY = 1e-300


def likelihood_factors(prior: Floats, marginals: Sequence[Floats]) -> list[Floats]:
    """Factors (n, card) by which ``prior`` (n or 1, cards ...) gets the ``marginals`` (n, card), one per variable."""
    factors = [np.ones_like(reported) for reported in marginals]
    for _ in range(_SWEEPS):
        largest = 0.0
        for axis, reported in enumerate(marginals):
            current = marginal(updated(prior, factors), axis)
            largest = max(largest, float(np.abs(current - reported).max(initial=0)))
            factors[axis] *= reported / np.maximum(current, _TINY)
        if largest < _TOLERANCE:
            break
    return factors


def updated(joint: Floats, factors: Sequence[Floats]) -> Floats:
    """``joint`` (n or 1, cards ...) times the factors (n, card), normalised, (n, cards ...)."""
    product = joint
    for axis, factor in enumerate(factors):
        shape = [1] * joint.ndim
        shape[0], shape[axis + 1] = factor.shape
        product = product * factor.reshape(shape)
    product = np.maximum(product, _TINY)  # contradictory evidence leaves a uniform distribution
    return product / product.sum(axis=tuple(range(1, product.ndim)), keepdims=True)


def marginal(joint: Floats, axis: int) -> Floats:
    """The marginal distribution of one variable, (n, card)."""
    others = tuple(number for number in range(1, joint.ndim) if number != axis + 1)
    return joint.sum(axis=others)
