"""Vignette from Python: evaluate texts, audit a judge, and write a metric of one's own.

A name is imported when it is first used: judges, statistics and pandas take seconds to import.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from flows.evaluation.api import Result, audit, evaluate, load_notes
    from tasks.measures.own import Text, metric

__all__ = ["Result", "Text", "audit", "evaluate", "load_notes", "metric"]

_HOMES = {
    "Result": "flows.evaluation.api",
    "Text": "tasks.measures.own",
    "audit": "flows.evaluation.api",
    "evaluate": "flows.evaluation.api",
    "load_notes": "flows.evaluation.api",
    "metric": "tasks.measures.own",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
