"""Values and parameters as numbers: codes of values, and design matrices of parametric nodes.

A value's code is its index in the variable's values. A parametric node is a linear predictor with one column of a
design matrix for each parameter. Noisy-OR is linear as well: -log P(absent) is the sum of -log(1 - p) over the leak and
the present causes (Equation 2).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from schemas.errors import NetworkError, TableError
from tasks.network.graph import (
    Floats,
    Logistic,
    NetworkDefinition,
    NoisyOr,
    Poisson,
    Regression,
    Table,
    Variable,
)

Codes = dict[str, npt.NDArray[np.int64]]
"""Codes by variable, one for each row; for a count the count itself, or its category (top: "top or more")."""


def encode(network: NetworkDefinition, frame: pd.DataFrame, names: Sequence[str]) -> Codes:
    """Codes of the columns ``names`` of ``frame``.

    Raises TableError for a missing column, and NetworkError, naming column, row and value, for an unknown variable or
    value.
    """
    for name in names:
        network.variable(name)
    missing = [name for name in names if name not in frame.columns]
    if missing:
        raise TableError(
            f"no column {', '.join(missing)}; expected {', '.join(names)}, found {', '.join(frame.columns)}"
        )
    codes: Codes = {}
    for name in names:
        encode_column = _encode_count if network.is_count(name) else _encode_values
        codes[name] = encode_column(network, frame[name], name)
    return codes


def _encode_values(network: NetworkDefinition, column: pd.Series, name: str) -> npt.NDArray[np.int64]:
    values = network.values(name)
    codes = pd.Index(values).get_indexer(pd.Index(column))
    _reject(network, column, codes < 0, f"expected one of {', '.join(values)}")
    return codes.astype(np.int64)


def _encode_count(network: NetworkDefinition, column: pd.Series, name: str) -> npt.NDArray[np.int64]:
    expected = "expected a whole number of 0 or more"
    if not pd.api.types.is_integer_dtype(column.dtype) or column.isna().any():
        whole = column.map(lambda value: isinstance(value, int | np.integer) and not isinstance(value, bool))
        _reject(network, column, ~whole.to_numpy(dtype=bool), expected)
    counts = column.to_numpy(dtype=np.int64)
    _reject(network, column, counts < 0, expected)
    node = network.variable(name).distribution
    assert isinstance(node, Poisson)
    return counts if node.top is None else np.minimum(counts, node.top)


def _reject(network: NetworkDefinition, column: pd.Series, wrong: npt.NDArray[np.bool_], expected: str) -> None:
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        more = f" ({wrong.sum()} such rows)" if wrong.sum() > 1 else ""
        raise NetworkError(
            f"network {network.name}: column {column.name}, row {row}: found {column.iloc[row]!r}{more}; {expected}"
        )


def decode(network: NetworkDefinition, name: str, codes: npt.NDArray[np.integer]) -> pd.Series:
    """The column of values of ``codes``: strings, or int64 for a count."""
    if network.is_count(name):
        return pd.Series(codes.astype(np.int64), name=name)
    # Through a dictionary array: a million strings in about 40 ms, a tenth of the time through a Python list.
    width = pa.int8() if len(network.values(name)) < 128 else pa.int32()
    coded = pa.DictionaryArray.from_arrays(pa.array(codes, type=width), pa.array(list(network.values(name))))
    return pd.Series(pd.array(coded.cast(pa.large_string()), dtype="str"), name=name)


def combine(network: NetworkDefinition, names: Sequence[str], codes: Codes, rows: int) -> npt.NDArray[np.int64]:
    """Each row's combination of values of ``names``, as flat index into a table over them, (rows,)."""
    index = np.zeros(rows, dtype=np.int64)
    for name, card in zip(names, network.cards(names), strict=True):
        index = index * card + codes[name]
    return index


@dataclass(frozen=True)
class Column:
    """One parameter: leak or bias (``parent`` None), or the effect of a parent's value.

    ``block`` is the value of the Poisson node's ``by`` parent whose model it belongs to, "" for a single model.
    """

    block: str
    parent: str | None = None
    code: int = 0


@dataclass(frozen=True, eq=False)
class Design:
    """``matrix`` (parent combinations, parameters) of 0 and 1, rows in the order of a flat table of the parents."""

    columns: tuple[Column, ...]
    matrix: Floats


def design_of(network: NetworkDefinition, name: str) -> Design:
    """The design of a noisy-OR, logistic or Poisson node."""
    node = network.variable(name).distribution
    return make_design(network, network.parents(name), node.by if isinstance(node, Poisson) else None)


def make_design(network: NetworkDefinition, parents: Sequence[str], by: str | None) -> Design:
    """Intercept and an indicator of each non-reference value of each parent, in one block for each value of ``by``."""
    cards = network.cards(parents)
    codes = [axis.reshape(-1) for axis in np.indices(cards)]
    everywhere = np.ones(int(np.prod(cards)), dtype=bool)
    columns: list[Column] = []
    parts: list[npt.NDArray[np.bool_]] = []
    for position, block in enumerate(network.values(by) if by else ("",)):
        inside = codes[list(parents).index(by)] == position if by else everywhere
        columns.append(Column(block))
        parts.append(inside)
        for parent, own, card in zip(parents, codes, cards, strict=True):
            if parent != by:
                columns.extend(Column(block, parent, code) for code in range(1, card))
                parts.extend(inside & (own == code) for code in range(1, card))
    return Design(tuple(columns), np.stack(parts, axis=1).astype(float))


def label(network: NetworkDefinition, name: str, column: Column) -> str:
    """A parameter's name for tables: ``symptom: cause=yes``, ``outcome | treatment=no: bias``."""
    node = network.variable(name).distribution
    head = f"{name} | {node.by}={column.block}" if isinstance(node, Poisson) and node.by else name
    if column.parent is None:
        return f"{head}: {'leak' if isinstance(node, NoisyOr) else 'bias'}"
    return f"{head}: {column.parent}={network.values(column.parent)[column.code]}"


def parameters(node: Variable, columns: Sequence[Column]) -> Floats:
    """The node's parameters in the order of ``columns``: probabilities of a noisy-OR, coefficients of a regression."""
    found, own = [], node.distribution
    assert not isinstance(own, Table)
    for column in columns:
        if isinstance(own, NoisyOr):
            base, effects = own.leak, own.causes
        else:
            model = own.models[column.block] if isinstance(own, Poisson) else own
            base, effects = model.bias, model.coefficients
        found.append(base if column.parent is None else effects[column.parent][column.code])
    return np.array(found)


def with_parameters(node: Variable, columns: Sequence[Column], values: Floats) -> Variable:
    """The node with other parameters, given in the order of ``columns``."""
    old = node.distribution
    if isinstance(old, Poisson):
        models = {block: _regression(columns, values, block) for block in old.models}
        return replace(node, distribution=replace(old, models=models))
    model = _regression(columns, values, "")
    kind = NoisyOr if isinstance(old, NoisyOr) else Logistic
    return replace(node, distribution=kind(model.bias, model.coefficients))


def _regression(columns: Sequence[Column], values: Floats, block: str) -> Regression:
    base = 0.0
    effects: dict[str, tuple[float, ...]] = {}
    for column, value in zip(columns, values.tolist(), strict=True):
        if column.block == block and column.parent is None:
            base = value
        elif column.block == block and column.parent is not None:
            effects[column.parent] = (*effects.get(column.parent, (0.0,)), value)
    return Regression(base, effects)
