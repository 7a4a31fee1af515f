"""Vignette from Python: evaluate texts, audit a judge, plan a study, and write a metric of one's own."""

from flows.evaluation.api import Result, evaluate
from flows.evaluation.python import audit, load_notes, plan
from tasks.measures.own import Text, metric

__all__ = ["Result", "Text", "audit", "evaluate", "load_notes", "metric", "plan"]
