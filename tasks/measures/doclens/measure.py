"""The measure of claims of outputs and references against each other, and of citations against the source."""

from tasks.measures.declared import Declared
from tasks.measures.doclens.judging import GRADED, METRICS, NAME, DocLensMeasure, Plan

ORDER = (
    *("claim_recall", "claim_recall_graded", "claim_precision", "claim_precision_graded"),
    *("citation_recall", "citation_precision"),
)
"""Of pages: each metric in degrees follows the one that it refines."""
MEASURE = Declared(
    NAME,
    {name: {**METRICS, **GRADED}[name] for name in ORDER},
    lambda plan, params: DocLensMeasure(Plan(plan.sections, plan.citing, expected=plan.systems), params.doclens),
    "doclens",
    table="claims",
    referenced=True,
    or_cited=True,
    marked=True,
)
