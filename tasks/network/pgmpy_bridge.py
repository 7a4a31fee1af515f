"""What is computed with pgmpy: K2-smoothed tables, back-door adjustment sets, and files in BIF and XMLBIF.

BIF and XMLBIF are the formats of pgmpy, bnlearn and GeNIe. pgmpy takes seconds to import, so modules that fit networks
or look for adjustment sets import this one inside functions.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import yaml
from pgmpy.base import DAG
from pgmpy.factors.discrete import TabularCPD
from pgmpy.identification import Adjustment
from pgmpy.models import DiscreteBayesianNetwork
from pgmpy.parameter_estimator import DiscreteBayesianEstimator
from pgmpy.readwrite import BIFReader, BIFWriter, XMLBIFReader, XMLBIFWriter

from schemas.errors import NetworkError
from tasks.network.graph import Floats, NetworkDefinition, Poisson, in_categories


def states(network: NetworkDefinition, name: str) -> list[str] | list[int]:
    """The states of a variable in pgmpy's model: its values, or 0, 1, ..., top for a count in categories."""
    node = network.variable(name).distribution
    return list(range(network.cards([name])[0])) if isinstance(node, Poisson) else list(network.values(name))


def fit_tables(network: NetworkDefinition, records: pd.DataFrame, names: Sequence[str]) -> dict[str, Floats]:
    """K2-smoothed probability tables of ``names`` (Appendix F.1), shape (cards of the parents ..., card) each.

    One is added to every count (Cooper and Herskovits 1992), so an unobserved combination gets a uniform distribution.
    """
    columns = [v for v in network.variables if v in names or any(v in network.parents(name) for name in names)]
    model = DiscreteBayesianNetwork()
    model.add_nodes_from(columns)
    model.add_edges_from((parent, name) for name in names for parent in network.parents(name))
    estimator = DiscreteBayesianEstimator(state_names={v: states(network, v) for v in columns}, prior_type="K2")
    model.fit(records[columns].astype(object), estimator=estimator)
    return {name: _table(network, model.get_cpds(name), name) for name in names}


def _table(network: NetworkDefinition, cpd: TabularCPD, name: str) -> Floats:
    """A pgmpy table with the axes and the order of values of ``network``."""
    axes = [*network.parents(name), name]
    values = np.asarray(cpd.to_factor().values, dtype=float)
    ordered = values.transpose([cpd.variables.index(v) for v in axes])
    for axis, variable in enumerate(axes):
        ordered = ordered.take([cpd.state_names[variable].index(s) for s in states(network, variable)], axis=axis)
    return ordered


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
    model = DiscreteBayesianNetwork()
    model.add_nodes_from(closed.variables)
    model.add_edges_from((parent, name) for name in closed.variables for parent in closed.parents(name))
    model.add_cpds(*(_cpd(closed, name) for name in closed.variables))
    writer = _format(path)[1](model)
    writer.write(str(path))


def _cpd(network: NetworkDefinition, name: str) -> TabularCPD:
    parents = network.parents(name)
    probabilities = np.exp(network.log_conditional(name))
    card = probabilities.shape[-1]
    named = {v: [str(value) for value in states(network, v)] for v in (name, *parents)}
    return TabularCPD(
        name,
        card,
        probabilities.reshape(-1, card).T,
        list(parents) or None,
        list(network.cards(parents)) or None,
        named,
    )
