"""The measure of claims of outputs against the source."""

from tasks.measures.declared import Declared
from tasks.measures.doclens.judging import Plan
from tasks.measures.grounding.grounding import METRICS, NAME, Grounding

MEASURE = Declared(
    NAME,
    METRICS,
    lambda plan, params: Grounding(Plan(plan.sections, plan.citing, expected=plan.systems), params.doclens),
    "doclens",
    table="grounded",
    marked=True,
)
