"""Fits a count or logistic node to an expert's example cases, as SimSUM fitted days at home (Section 2.1, Table 8)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.optimize import brentq
from scipy.stats import t as student

from schemas.errors import NetworkError
from tasks.network.coding import combine, design_of, label, parameters, with_parameters
from tasks.network.fitting import likelihood_of, logistic_terms, maximise
from tasks.network.graph import Floats, Logistic, NetworkDefinition, Poisson, Regression

_DECIMALS = 4
_STEPS, _RIDGE, _GAIN, _FARTHEST = 50, 1e-9, 1e-9, 64.0
_FLAT = 5e-5
"""Smallest mean curvature of the log-likelihood at which a coefficient has a finite estimate."""


@dataclass(frozen=True)
class Cases:
    """Labelled cases: each case's row in the node's design, and its label (days, or 0 and 1)."""

    combinations: npt.NDArray[np.int64]  # (cases,)
    labels: Floats  # (cases,)


@dataclass(frozen=True)
class Coefficient:
    """A fitted coefficient with its 95% interval; one that no case bears on keeps its value and has no interval."""

    name: str
    value: float
    low: float | None
    high: float | None
    before: float  # its value in the network file


@dataclass(frozen=True)
class CaseFit:
    """``node`` of ``network`` fitted to ``cases`` cases."""

    network: NetworkDefinition
    node: str
    cases: int
    coefficients: tuple[Coefficient, ...]


def read_cases(network: NetworkDefinition, node: str, path: Path) -> Cases:
    """Read a CSV file with a column for each parent of ``node`` and one for the node itself.

    A count may have a fraction ("3.5 days"). A parent without a column has its first value in every case.
    Raises NetworkError, naming file, line and column, and for a node that is neither a count nor logistic.
    """
    if not isinstance(network.variable(node).distribution, Poisson | Logistic):
        raise NetworkError(
            f"network {network.name}: node {node} is neither poisson nor logistic; only these are fitted"
        )
    if not path.is_file():
        raise NetworkError(f"{path}: no such file")
    try:
        frame = pd.read_csv(path, dtype=str, keep_default_na=False, skipinitialspace=True)
    except ValueError as error:
        said = " ".join(str(error).split())
        raise NetworkError(f"{path}: not a CSV file in UTF-8 with a header ({said})") from error
    parents = network.parents(node)
    _check_columns(frame, network, node, path)
    codes = {name: _codes(frame, name, network.values(name), path) for name in parents if name in frame}
    codes |= {name: np.zeros(len(frame), dtype=np.int64) for name in parents if name not in frame}
    if network.is_count(node):
        labels = _counts(frame, node, path)
    else:
        labels = _codes(frame, node, network.values(node), path).astype(float)
    return Cases(combine(network, parents, codes, len(frame)), labels)


def _check_columns(frame: pd.DataFrame, network: NetworkDefinition, node: str, path: Path) -> None:
    parents, distribution = network.parents(node), network.variable(node).distribution
    by = distribution.by if isinstance(distribution, Poisson) else None
    missing = [name for name in (node, by) if name and name not in frame]
    unknown = [name for name in frame if name not in (*parents, node)]
    if missing:
        raise NetworkError(f"{path}: no column {missing[0]}; expected {', '.join((*parents, node))}")
    if unknown:
        raise NetworkError(
            f"{path}: column {unknown[0]} is no parent of {node}; expected {', '.join((*parents, node))}"
        )
    if frame.empty:
        raise NetworkError(f"{path}: no cases below the header")


def _codes(frame: pd.DataFrame, name: str, values: Sequence[str], path: Path) -> npt.NDArray[np.int64]:
    codes = pd.Index(values).get_indexer(pd.Index(frame[name].str.strip()))
    _reject(frame[name], codes < 0, f"expected one of {', '.join(values)}", path)
    return codes.astype(np.int64)


def _counts(frame: pd.DataFrame, name: str, path: Path) -> Floats:
    counts = pd.to_numeric(frame[name], errors="coerce").to_numpy(dtype=float)
    _reject(frame[name], ~(np.isfinite(counts) & (counts >= 0)), "expected a number of 0 or more", path)
    return counts


def _reject(column: pd.Series, wrong: npt.NDArray[np.bool_], expected: str, path: Path) -> None:
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise NetworkError(f"{path}: line {row + 2}, column {column.name}: found {column.iloc[row]!r}; {expected}")


def fit_cases(network: NetworkDefinition, node: str, cases: Cases) -> CaseFit:
    """Maximum likelihood coefficients of ``node`` with 95% intervals; the other nodes stay as they are.

    The variance of a count's labels is estimated from the cases (quasi-Poisson; McCullagh and Nelder 1989, Section
    6.2): an expert's labels vary less than counts do. Intervals of a logistic node are those of the profile likelihood,
    which hold the truth for rare labels as well, at Student's quantile (Venzon and Moolgavkar 1988, "A method for
    computing profile-likelihood-based confidence intervals"). A coefficient that no case bears on keeps its value.

    Raises NetworkError where the cases cannot separate coefficients: two that always vary together, or labels that a
    coefficient predicts without exception.
    """
    variable, design = network.variable(node), design_of(network, node)
    likelihood, before = likelihood_of(variable.distribution), parameters(variable, design.columns)
    seen = design.matrix[cases.combinations]
    used = np.flatnonzero(seen.any(axis=0))
    names = [label(network, node, column) for column in design.columns]
    _check_rank(seen[:, used], [names[at] for at in used])
    w = maximise(seen[:, used], np.ones((1, len(seen))), cases.labels[None], likelihood)[0]
    _, _, curvature = likelihood.terms(seen[:, used] @ w, np.ones(len(seen)), cases.labels)
    information = -(seen[:, used] * curvature[:, None]).T @ seen[:, used]
    _check_finite(information, len(seen), [names[at] for at in used], w)
    values = before.copy()
    values[used] = np.round(w, _DECIMALS)
    if isinstance(variable.distribution, Poisson):
        half = _half_widths([design.columns[at].block for at in used], seen[:, used], w, cases.labels)
        ends = np.column_stack([values[used] - half, values[used] + half])
    else:
        ends = _profile_ends(seen[:, used], w, cases.labels)
    found = [
        Coefficient(name, float(v), None, None, float(b)) for name, v, b in zip(names, values, before, strict=True)
    ]
    for at, (low, high) in zip(used.tolist(), ends.tolist(), strict=True):
        found[at] = replace(found[at], low=low, high=high)
    fitted = network.with_variables([with_parameters(variable, design.columns, values)])
    return CaseFit(fitted, node, len(seen), tuple(found))


def _check_rank(seen: Floats, names: Sequence[str]) -> None:
    for at in range(1, len(names) + 1):
        if np.linalg.matrix_rank(seen[:, :at]) < at:
            others = ", ".join(names[: at - 1])
            raise NetworkError(
                f"{names[at - 1]}: no case separates it from {others}; add cases that differ in it alone"
            )


def _check_finite(information: Floats, cases: int, names: Sequence[str], w: Floats) -> None:
    if np.linalg.eigvalsh(information)[0] / cases < _FLAT:
        worst = names[int(np.abs(w).argmax())]
        raise NetworkError(
            f"{worst}: the labels follow it without exception, so it has no finite value; add other cases"
        )


def _half_widths(blocks: Sequence[str], seen: Floats, w: Floats, labels: Floats) -> Floats:
    """Half widths of a count's 95% intervals, by the block of each coefficient; nan without more cases than those."""
    half = np.full(len(blocks), np.nan)
    for block in dict.fromkeys(blocks):
        own = [at for at, name in enumerate(blocks) if name == block]
        inside = seen[:, own].any(axis=1)
        x, y = seen[inside][:, own], labels[inside]
        freedom = len(x) - len(own)
        if freedom > 0:
            rates = np.exp(x @ w[own])
            variance = np.diag(np.linalg.inv((x * rates[:, None]).T @ x))
            dispersion = ((y - rates) ** 2 / rates).sum() / freedom
            half[own] = student.ppf(0.975, freedom) * np.sqrt(variance * dispersion)
    return half


def _profile_ends(seen: Floats, w: Floats, labels: Floats) -> Floats:
    """95% intervals of logistic coefficients (coefficients, 2); nan without more cases than coefficients.

    An end is where the largest log-likelihood given the coefficient is half the squared quantile below the maximum.
    An end that is not reached within `_FARTHEST` is infinite: the cases do not bound the coefficient there.
    """
    ends, freedom = np.full((len(w), 2), np.nan), len(seen) - len(w)
    if freedom <= 0:
        return ends
    below = student.ppf(0.975, freedom) ** 2 / 2
    top = float(logistic_terms(seen @ w, np.ones(len(seen)), labels)[0].sum())

    def missing(value: float, at: int) -> float:
        return top - below - _profiled(seen, w, labels, at, value)

    for at in range(len(w)):
        for side, sign in enumerate((-1.0, 1.0)):
            step = 1.0
            while step <= _FARTHEST and missing(w[at] + sign * step, at) < 0:
                step *= 2
            far = step > _FARTHEST
            ends[at, side] = sign * np.inf if far else brentq(missing, w[at], w[at] + sign * step, args=(at,))
    return ends


def _profiled(seen: Floats, w: Floats, labels: Floats, at: int, value: float) -> float:
    """The largest log-likelihood of a logistic node whose coefficient ``at`` has this value, by Newton's method."""
    rest, ones = np.delete(seen, at, axis=1), np.ones(len(seen))
    fixed, free = seen[:, at] * value, np.delete(w, at)
    best, first, second = logistic_terms(fixed + rest @ free, ones, labels)
    for _ in range(_STEPS if free.size else 0):
        information = -(rest * second[:, None]).T @ rest + _RIDGE * np.eye(free.size)
        step = np.linalg.solve(information, rest.T @ first)
        for _ in range(_STEPS):
            terms = logistic_terms(fixed + rest @ (free + step), ones, labels)
            if terms[0].sum() >= best.sum():
                break
            step = step / 2
        gained, free = float(terms[0].sum() - best.sum()), free + step
        best, first, second = terms
        if abs(gained) < _GAIN:
            break
    return float(best.sum())


def predicted(network: NetworkDefinition, node: str, cases: Cases) -> Floats:
    """The rate of a count, or the probability of the second value, for each case, (cases,)."""
    if network.is_count(node):
        return network.rates(node).reshape(-1)[cases.combinations]
    return np.exp(network.log_conditional(node)).reshape(-1, 2)[cases.combinations, 1]


def mean_error(network: NetworkDefinition, node: str, cases: Cases) -> float:
    """Mean absolute difference between predictions and labels, in units of the node."""
    return float(np.abs(predicted(network, node, cases) - cases.labels).mean())


def distribution_entry(network: NetworkDefinition, node: str) -> dict[str, Any]:
    """The ``poisson`` or ``logistic`` entry of a network file for ``node``."""
    distribution = network.variable(node).distribution
    if isinstance(distribution, Logistic):
        return {"logistic": _regression(network, distribution)}
    assert isinstance(distribution, Poisson)
    models = {block: _regression(network, model) for block, model in distribution.models.items()}
    if distribution.by is None:
        return {"poisson": models[""]}
    return {"poisson": {"by": distribution.by, "models": models}}


def _regression(network: NetworkDefinition, model: Regression) -> dict[str, Any]:
    coefficients: dict[str, Any] = {}
    for parent, effects in model.coefficients.items():
        values = network.values(parent)
        own = dict(zip(values[1:], effects[1:], strict=True))
        coefficients[parent] = own if len(values) > 2 else effects[1]
    return {"bias": model.bias, "coefficients": coefficients}
