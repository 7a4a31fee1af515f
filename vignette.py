"""Vignette from Python: evaluate texts, and write a metric of one's own."""

from flows.evaluation.api import Result, evaluate
from flows.evaluation.own_metrics import Text, metric

__all__ = ["Result", "Text", "evaluate", "metric"]
