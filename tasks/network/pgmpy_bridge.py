"""What is computed with pgmpy: back-door adjustment sets, and files in BIF and XMLBIF.

BIF and XMLBIF are the formats of pgmpy, bnlearn and GeNIe. pgmpy takes seconds to import, so modules that look for
adjustment sets import this one inside functions.
"""

from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import yaml
from pgmpy.base import DAG
from pgmpy.factors.discrete import TabularCPD
from pgmpy.identification import Adjustment
from pgmpy.models import DiscreteBayesianNetwork
from pgmpy.readwrite import BIFReader, BIFWriter, XMLBIFReader, XMLBIFWriter

from schemas.errors import NetworkError
from tasks.network.graph import NetworkDefinition, in_categories


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
    keys = ["/".join(combination) for combination in product(*(_values(table, at) for at in table.variables[1:]))]
    return node | {"parents": parents, "table": dict(zip(keys, rows, strict=True))}


def _values(table: TabularCPD, variable: str) -> list[str]:
    return [str(value).replace("/", "_") for value in table.state_names[variable]]


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
