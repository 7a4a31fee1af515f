"""The project's networks as pgmpy's models, to compare with it."""

import numpy as np
from pgmpy.factors.discrete import TabularCPD
from pgmpy.models import DiscreteBayesianNetwork

from tasks.network.graph import NetworkDefinition


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
