"""A network as a pgmpy model, for comparison in tests and benchmarks of inference and sampling."""

from collections.abc import Iterable

import numpy as np
from pgmpy.factors.discrete import TabularCPD
from pgmpy.models import DiscreteBayesianNetwork

from tasks.network.graph import NetworkDefinition
from tasks.network.pgmpy_bridge import states


def to_pgmpy(network: NetworkDefinition, names: Iterable[str] | None = None) -> DiscreteBayesianNetwork:
    """The network as a pgmpy model with full tables, restricted to ``names`` and their causes if given.

    A count must be in categories (`in_categories`); its states are 0, 1, ..., top.
    """
    wanted = set(network.variables) if names is None else set(names) | network.ancestors(names)
    kept = [name for name in network.order if name in wanted]
    model = DiscreteBayesianNetwork()
    model.add_nodes_from(kept)
    model.add_edges_from((parent, name) for name in kept for parent in network.parents(name))
    model.add_cpds(*(_cpd(network, name) for name in kept))
    model.check_model()
    return model


def _cpd(network: NetworkDefinition, name: str) -> TabularCPD:
    parents = network.parents(name)
    table = np.exp(network.log_conditional(name))
    return TabularCPD(
        name,
        table.shape[-1],
        table.reshape(-1, table.shape[-1]).T,
        evidence=list(parents) or None,
        evidence_card=list(network.cards(parents)) or None,
        state_names={v: states(network, v) for v in (name, *parents)},
    )
