"""A network over time as one network of all visits: a peer of sampling."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from tasks.domains.in_use import FOLDER, domain_names
from tasks.network.definition import load_definition
from tasks.network.graph import (
    Effects,
    Logistic,
    NetworkDefinition,
    NoisyOr,
    Poisson,
    Regression,
    Variable,
)
from tasks.network.transitions import LAST, Transitions, read_transitions

TIMED = [name for name in domain_names() if (FOLDER / name / "transitions.yaml").exists()]
"""The domains with a network over time; `_skeleton` has one that is small enough to enumerate."""


def timed_network(domain: str) -> tuple[NetworkDefinition, Transitions]:
    network = load_definition(FOLDER / domain / "network.yaml")
    return network, read_transitions(FOLDER / domain / "transitions.yaml", network)


def at_visit(name: str, visit: int) -> str:
    """The name of a variable at a visit in an unrolled network."""
    return f"{name}.{visit}"


def unrolled(network: NetworkDefinition, transitions: Transitions, visits: int) -> NetworkDefinition:
    """The network of ``visits`` visits: variables ``X.1``, ``X.2`` ..., intervals ``gap.2`` ..., constants by name."""
    nodes = [_placed(node, 1, transitions.constant) for node in network.nodes.values()]
    for visit in range(2, visits + 1):
        drawn = [transitions.slice.variable(name) for name in transitions.drawn]
        nodes += [_placed(node, visit, transitions.constant) for node in drawn]
    return NetworkDefinition(f"{network.name}, {visits} visits", {node.name: node for node in nodes})


def _placed(node: Variable, visit: int, constant: tuple[str, ...]) -> Variable:
    def name_of(name: str) -> str:
        if name in constant:
            return name
        return at_visit(name.removeprefix(LAST), visit - 1) if name.startswith(LAST) else at_visit(name, visit)

    return _renamed(node, name_of)


def _renamed(node: Variable, name_of: Callable[[str], str]) -> Variable:
    """The variable with another name, and with other names of its parents."""

    def named(effects: Effects) -> Effects:
        return {name_of(parent): values for parent, values in effects.items()}

    def regression(model: Regression) -> Regression:
        return replace(model, coefficients=named(model.coefficients))

    own = node.distribution
    if isinstance(own, NoisyOr):
        own = replace(own, causes=named(own.causes))
    elif isinstance(own, Logistic):
        own = replace(own, coefficients=named(own.coefficients))
    elif isinstance(own, Poisson):
        by = None if own.by is None else name_of(own.by)
        own = replace(own, by=by, models={value: regression(model) for value, model in own.models.items()})
    parents = tuple(map(name_of, node.parents))
    return replace(node, name=name_of(node.name), parents=parents, distribution=own)


def gap_codes(transitions: Transitions, days: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The code of ``gap`` for intervals in days, -1 for days within no range."""
    codes = np.full(days.shape, -1, dtype=np.int64)
    for code, (low, high) in enumerate(transitions.days.values()):
        codes[(days >= low) & (days <= high)] = code
    return codes
