"""The expert Bayesian network: definition, sampling, fitting, inference. The only importer of pgmpy.

What other rooms may use is listed here and loaded when first used, so that importing the package costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tasks.network.causal import causal_table
    from tasks.network.definition import NetworkDefinition, default_path, load_definition
    from tasks.network.fitting import fit
    from tasks.network.graph import in_categories, intervene
    from tasks.network.inference import joint, log_likelihood, posterior
    from tasks.network.recovery import recovery_table
    from tasks.network.reproduction import count_rows, reproduction_rows
    from tasks.network.sampling import sample

_HOMES = {
    "NetworkDefinition": "definition",
    "causal_table": "causal",
    "count_rows": "reproduction",
    "default_path": "definition",
    "fit": "fitting",
    "in_categories": "graph",
    "intervene": "graph",
    "joint": "inference",
    "load_definition": "definition",
    "log_likelihood": "inference",
    "posterior": "inference",
    "recovery_table": "recovery",
    "reproduction_rows": "reproduction",
    "sample": "sampling",
}

__all__ = [
    "NetworkDefinition",
    "causal_table",
    "count_rows",
    "default_path",
    "fit",
    "in_categories",
    "intervene",
    "joint",
    "load_definition",
    "log_likelihood",
    "posterior",
    "recovery_table",
    "reproduction_rows",
    "sample",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
