"""A network over time as one network of all visits, and as pgmpy's dynamic network: peers of filtering and sampling."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from pgmpy.factors.discrete import TabularCPD
from pgmpy.models import DynamicBayesianNetwork

from tasks.network.graph import (
    Effects,
    Floats,
    Logistic,
    NetworkDefinition,
    NoisyOr,
    Poisson,
    Regression,
    Variable,
)
from tasks.network.transitions import GAP, LAST, Transitions


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
        own = Logistic(regression(own.model))
    elif isinstance(own, Poisson):
        by = None if own.by is None else name_of(own.by)
        own = replace(own, by=by, models={value: regression(model) for value, model in own.models.items()})
    parents = tuple(map(name_of, node.parents))
    return replace(node, name=name_of(node.name), parents=parents, distribution=own)


def to_dynamic(network: NetworkDefinition, transitions: Transitions) -> DynamicBayesianNetwork:
    """pgmpy's model of a network over time, without unbounded counts: nodes (name, 0) and (name, 1), states by code.

    pgmpy has the same edges in both slices. A variable that lacks a parent in one of them (``gap`` in the first, the
    causes of a constant in the second) has a table that does not depend on it. A constant keeps its last value.
    """
    names = [GAP, *(name for name in network.variables if not network.is_unbounded(name))]
    first = {name: network.parents(name) if name != GAP else () for name in names}
    later = {name: () if name in transitions.constant else transitions.slice.parents(name) for name in names}
    model = DynamicBayesianNetwork()
    model.add_nodes_from(names)
    within = {name: [p for p in names if p in {*first[name], *later[name]}] for name in names}
    last = {name: [p.removeprefix(LAST) for p in later[name] if p.startswith(LAST)] for name in names}
    # pgmpy's inference passes on the variables with parents in the slice before, and expects their last values.
    linked = {*transitions.constant, *transitions.carried, *(name for name in names if last[name])}
    between = {name: [p for p in names if p in last[name] or (p == name and name in linked)] for name in names}
    model.add_edges_from([((p, 0), (name, 0)) for name in names for p in within[name]])
    model.add_edges_from([((p, 0), (name, 1)) for name in names for p in between[name]])
    cards = {name: transitions.slice.cards([name])[0] for name in names}
    for name in names:
        start = np.exp(network.log_conditional(name)) if name != GAP else np.full(cards[GAP], 1 / cards[GAP])
        known = [(parent, 0) for parent in first[name]]
        model.add_cpds(_dynamic_cpd((name, 0), start, known, [(p, 0) for p in within[name]], cards))
        constant = name in transitions.constant
        table = np.eye(cards[name]) if constant else np.exp(transitions.slice.log_conditional(name))
        known = [(name, 0)] if constant else [_at(parent) for parent in later[name]]
        parents = [*((p, 1) for p in within[name]), *((p, 0) for p in between[name])]
        model.add_cpds(_dynamic_cpd((name, 1), table, known, parents, cards))
    return model


def _at(parent: str) -> tuple[str, int]:
    return (parent.removeprefix(LAST), 0) if parent.startswith(LAST) else (parent, 1)


def _dynamic_cpd(
    node: tuple[str, int],
    table: Floats,
    known: Sequence[tuple[str, int]],
    parents: Sequence[tuple[str, int]],
    cards: Mapping[str, int],
) -> TabularCPD:
    """The table over ``parents``, which include the ``known`` ones that it depends on."""
    order = [known.index(parent) for parent in parents if parent in known]
    shape = [cards[p[0]] if p in known else 1 for p in parents]
    full = np.broadcast_to(
        np.transpose(table, [*order, len(known)]).reshape(*shape, cards[node[0]]),
        (*(cards[p[0]] for p in parents), cards[node[0]]),
    )
    values = full.reshape(-1, cards[node[0]]).T
    return TabularCPD(node, cards[node[0]], values, list(parents) or None, [cards[p[0]] for p in parents] or None)
