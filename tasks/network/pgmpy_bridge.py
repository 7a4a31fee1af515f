"""What is computed with pgmpy: K2-smoothed tables and back-door adjustment sets.

It takes seconds to import, so modules that fit networks or look for adjustment sets import it inside functions.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from pgmpy.base import DAG
from pgmpy.factors.discrete import TabularCPD
from pgmpy.identification import Adjustment
from pgmpy.models import DiscreteBayesianNetwork
from pgmpy.parameter_estimator import DiscreteBayesianEstimator

from tasks.network.distributions import Floats, Poisson
from tasks.network.graph import NetworkDefinition


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
