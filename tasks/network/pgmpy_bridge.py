"""What is computed with pgmpy: back-door adjustment sets, files in BIF and XMLBIF, and dynamic networks.

BIF and XMLBIF are the formats of pgmpy, bnlearn and GeNIe. pgmpy takes seconds to import, so modules that look for
adjustment sets import this one inside functions.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import yaml
from pgmpy.base import DAG
from pgmpy.factors.discrete import TabularCPD
from pgmpy.identification import Adjustment
from pgmpy.models import DiscreteBayesianNetwork, DynamicBayesianNetwork
from pgmpy.readwrite import BIFReader, BIFWriter, XMLBIFReader, XMLBIFWriter

from schemas.errors import NetworkError
from tasks.network.graph import Floats, NetworkDefinition, in_categories
from tasks.network.transitions import GAP, LAST, Transitions


def minimal_adjustment(network: NetworkDefinition, treatment: str, outcome: str) -> tuple[str, ...] | None:
    """A minimal back-door set for the effect of ``treatment`` on ``outcome``, in order; None where there is none."""
    found, success = Adjustment(variant="minimal").identify(_dag(network, treatment, outcome))
    if not success:
        return None
    return tuple(name for name in network.variables if name in found.get_role("adjustment"))


def blocks_back_doors(network: NetworkDefinition, treatment: str, outcome: str, names: Sequence[str]) -> bool:
    """Whether adjusting for ``names`` identifies the effect of ``treatment`` on ``outcome``."""
    dag = _dag(network, treatment, outcome)
    if names:
        dag = dag.with_role("adjustment", set(names))
    return bool(Adjustment(variant="minimal").validate(dag))


def _dag(network: NetworkDefinition, treatment: str, outcome: str) -> DAG:
    edges = [(parent, name) for name in network.order for parent in network.parents(name)]
    dag = DAG(ebunch=edges, roles={"exposures": treatment, "outcomes": outcome})
    dag.add_nodes_from(name for name in network.order if name not in dag)
    return dag


SUFFIXES = {
    ".bif": (BIFReader, BIFWriter),
    ".xml": (XMLBIFReader, XMLBIFWriter),
    ".xmlbif": (XMLBIFReader, XMLBIFWriter),
}
ROLE = "non-clinical"
"""Type of imported variables: the formats have none."""
TOP = 15
"""Counts are written in categories 0, 1, ..., 15 or more (SimSUM, Appendix F.1)."""


def _format(path: Path) -> Any:
    if path.suffix.lower() not in SUFFIXES:
        raise NetworkError(f"{path}: unknown format {path.suffix!r}; expected one of {', '.join(SUFFIXES)}")
    return SUFFIXES[path.suffix.lower()]


def import_network(path: Path, name: str) -> str:
    """The text of a network file with the tables of a BIF or XMLBIF file; every variable has the type `ROLE`.

    Raises NetworkError for a file that cannot be read.
    """
    reader = _format(path)[0]
    try:
        model = reader(str(path)).get_model()
    except Exception as error:  # the readers raise whatever their parsers do
        raise NetworkError(f"{path}: not a readable network: {' '.join(str(error).split())[:200]}") from error
    if not model.nodes:
        raise NetworkError(f"{path}: not a readable network: it has no variables")
    variables = {str(node): _variable(model.get_cpds(node)) for node in sorted(model.nodes, key=_order(model))}
    content = {"name": name, "source": f"{path.name}; set the type of each variable", "variables": variables}
    return yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=120, default_flow_style=None)


def _order(model: Any) -> Any:
    place = {node: at for at, node in enumerate(nx.lexicographical_topological_sort(nx.DiGraph(model.edges)))}
    return lambda node: (place.get(node, -1), node)


def _variable(table: TabularCPD) -> dict[str, Any]:
    name, parents = str(table.variable), [str(parent) for parent in table.variables[1:]]
    values = _values(table, table.variable)
    node: dict[str, Any] = {"type": ROLE, "values": values}
    probabilities = np.asarray(table.values, dtype=float).reshape(len(values), -1)
    rows = [_normalised(column, name) for column in probabilities.T]
    if not parents:
        return node | {"table": rows[0]}
    cards = [len(_values(table, parent)) for parent in table.variables[1:]]
    keys = ["/".join(_combination(table, at, cards)) for at in range(len(rows))]
    return node | {"parents": parents, "table": dict(zip(keys, rows, strict=True))}


def _values(table: TabularCPD, variable: str) -> list[str]:
    return [str(value).replace("/", "_") for value in table.state_names[variable]]


def _combination(table: TabularCPD, at: int, cards: list[int]) -> list[str]:
    indices = np.unravel_index(at, cards)
    return [_values(table, parent)[int(i)] for parent, i in zip(table.variables[1:], indices, strict=True)]


def _normalised(column: Any, name: str) -> list[float]:
    """A distribution as written, or divided by its sum where rounding in the file made it miss 1 by up to 1%."""
    total = float(column.sum())
    if abs(total - 1) > 0.01:
        raise NetworkError(f"node {name}: probabilities sum to {total:.4g}, not to 1")
    return [float(p) for p in (column if abs(total - 1) < 1e-10 else column / total)]


def export_network(network: NetworkDefinition, path: Path) -> None:
    """Write a network as BIF or XMLBIF: every node as a table, counts in categories up to `TOP`."""
    counts = {name: TOP for name in network.variables if network.is_unbounded(name)}
    closed = in_categories(network, counts)
    writer = _format(path)[1](to_pgmpy(closed))
    writer.write(str(path))


def to_pgmpy(network: NetworkDefinition) -> DiscreteBayesianNetwork:
    """pgmpy's model of a network with counts in categories, which have the states "0", "1", ..."""
    model = DiscreteBayesianNetwork()
    model.add_nodes_from(network.variables)
    model.add_edges_from((parent, name) for name in network.variables for parent in network.parents(name))
    model.add_cpds(*(_cpd(network, name) for name in network.variables))
    return model


def _cpd(network: NetworkDefinition, name: str) -> TabularCPD:
    parents = network.parents(name)
    probabilities = np.exp(network.log_conditional(name))
    card = probabilities.shape[-1]
    named = {v: list(network.values(v)) or [str(n) for n in range(network.cards([v])[0])] for v in (name, *parents)}
    return TabularCPD(
        name,
        card,
        probabilities.reshape(-1, card).T,
        list(parents) or None,
        list(network.cards(parents)) or None,
        named,
    )


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
