"""A parametric node as a linear predictor: one column of a design matrix for each parameter.

Noisy-OR is linear as well: -log P(absent) is the sum of -log(1 - p) over the leak and the present causes (Equation 2).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from tasks.network.distributions import Distribution, Effects, Floats, Logistic, NoisyOr, Poisson, Regression, Table
from tasks.network.graph import NetworkDefinition, Variable


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
    found = []
    for column in columns:
        base, effects = _base_and_effects(node.distribution, column.block)
        found.append(base if column.parent is None else effects[column.parent][column.code])
    return np.array(found)


def _base_and_effects(distribution: Distribution, block: str) -> tuple[float, Effects]:
    assert not isinstance(distribution, Table)
    if isinstance(distribution, NoisyOr):
        return distribution.leak, distribution.causes
    model = distribution.models[block] if isinstance(distribution, Poisson) else distribution.model
    return model.bias, model.coefficients


def with_parameters(node: Variable, columns: Sequence[Column], values: Floats) -> Variable:
    """The node with other parameters, given in the order of ``columns``."""
    old = node.distribution
    if isinstance(old, Poisson):
        models = {block: _regression(columns, values, block) for block in old.models}
        return replace(node, distribution=replace(old, models=models))
    model = _regression(columns, values, "")
    if isinstance(old, NoisyOr):
        return replace(node, distribution=NoisyOr(model.bias, model.coefficients))
    return replace(node, distribution=Logistic(model))


def _regression(columns: Sequence[Column], values: Floats, block: str) -> Regression:
    base = 0.0
    effects: dict[str, tuple[float, ...]] = {}
    for column, value in zip(columns, values.tolist(), strict=True):
        if column.block == block and column.parent is None:
            base = value
        elif column.block == block and column.parent is not None:
            effects[column.parent] = (*effects.get(column.parent, (0.0,)), value)
    return Regression(base, effects)
