"""What is computed with pgmpy: back-door adjustment sets.

pgmpy takes seconds to import, so modules that look for adjustment sets import this one inside functions.
"""

from collections.abc import Sequence

from pgmpy.base import DAG
from pgmpy.identification import Adjustment

from tasks.network.graph import NetworkDefinition


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
