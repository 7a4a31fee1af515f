"""Exact inference for many rows at once: variable elimination (Zhang and Poole 1994) with a row axis.

All rows share one elimination order; factors are arrays of log probabilities of shape (rows or 1, values of the
unobserved variables ...). In log space, as the likelihood of a long stay at home underflows otherwise.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
import numpy.typing as npt
import pandas as pd

from schemas.errors import NetworkError
from tasks.network.coding import Codes, encode
from tasks.network.distributions import Floats, log_poisson
from tasks.network.elimination import Factor, eliminate, largest_factor, plan
from tasks.network.graph import NetworkDefinition

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
    """P(targets | evidence) for each row of ``evidence``, shape (rows, cards of ``targets`` ...); as `posterior`."""
    names = [str(name) for name in evidence.columns]
    for target in targets:
        if target in names:
            raise NetworkError(f"network {network.name}: {target} is both the target and part of the evidence")
    network.cards(targets)
    return posterior_of_codes(network, encode(network, evidence, names), len(evidence), targets)


def posterior_of_codes(network: NetworkDefinition, codes: Codes, rows: int, targets: Sequence[str]) -> Floats:
    """`joint_posterior` for evidence in codes; equal rows are computed once."""
    names = list(codes)
    matrix = np.stack([codes[name] for name in names], axis=1) if names else np.zeros((rows, 0), dtype=np.int64)
    distinct, first, inverse = _distinct_rows(matrix)
    relevant = network.ancestors([*targets, *names]) | {*targets, *names}
    result = np.empty((len(distinct), *network.cards(targets)))
    step = _rows_at_once(network, relevant, names, targets)
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


def _log_joint(
    network: NetworkDefinition, relevant: frozenset[str] | set[str], codes: Codes, keep: tuple[str, ...]
) -> Floats:
    """log P(keep, evidence), shape (rows or 1 without evidence, cards of ``keep`` ...)."""
    factors = [reduced(network, name, codes) for name in network.order if name in relevant]
    hidden = [name for name in network.order if name in relevant and name not in codes and name not in keep]
    result = eliminate(factors, hidden, keep)
    rows = len(next(iter(codes.values()))) if codes else 1
    return np.broadcast_to(result, (rows, *result.shape[1:]))


def _rows_at_once(
    network: NetworkDefinition, relevant: frozenset[str], observed: list[str], targets: Sequence[str]
) -> int:
    cards = {name: network.cards([name])[0] for name in relevant if name not in observed}
    scopes = [
        tuple(v for v in (*network.parents(name), name) if v not in observed)
        for name in network.order
        if name in relevant
    ]
    hidden = [name for name in network.order if name in cards and name not in targets]
    cells = max(largest_factor(plan(scopes, hidden, cards), cards), prod(network.cards(targets)))
    return max(1, CHUNK_CELLS // cells)


def _distinct_rows(
    matrix: npt.NDArray[np.int64],
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Distinct rows, the index of the first occurrence of each, and each row's distinct row."""
    if matrix.shape[1] == 0:
        return matrix[:1], np.zeros(min(1, len(matrix)), dtype=np.int64), np.zeros(len(matrix), dtype=np.int64)
    distinct, first, inverse = np.unique(matrix, axis=0, return_index=True, return_inverse=True)
    return distinct, first.astype(np.int64), inverse.reshape(-1).astype(np.int64)


@dataclass(frozen=True)
class _Row:
    network: NetworkDefinition
    codes: Codes
    position: int

    def shown(self, names: Sequence[str]) -> str:
        return ", ".join(f"{name}={self._value(name)}" for name in names)

    def _value(self, name: str) -> str:
        code = int(self.codes[name][self.position])
        return str(code) if self.network.is_count(name) else self.network.values(name)[code]


def _reject_impossible(
    network: NetworkDefinition, codes: Codes, totals: Floats, first: npt.NDArray[np.int64], relevant: frozenset[str]
) -> None:
    impossible = np.flatnonzero(np.isneginf(totals))
    if impossible.size == 0:
        return
    worst = impossible[np.argmin(first[impossible])]
    row = _Row(network, codes, int(worst))
    cause = ""
    for name in network.order:
        family = (*network.parents(name), name)
        if (
            name in relevant
            and all(v in codes for v in family)
            and np.isneginf(reduced(network, name, codes).logs[worst])
        ):
            given = row.shown(network.parents(name))
            cause = f": P({row.shown([name])}{' | ' + given if given else ''}) is 0"
            break
    raise NetworkError(
        f"network {network.name}: row {first[worst]}: the evidence {row.shown(list(codes))} has probability zero"
        f"{cause}; correct the evidence, or the zero in the network file"
    )
