"""The measure of claims of outputs and references against each other, and of citations against the source."""

from collections.abc import Sequence

from schemas.params import Params
from tasks.llm.calls import Asks
from tasks.measures.declared import Declared
from tasks.measures.declared import Plan as Evaluated
from tasks.measures.doclens.judging import GRADED, METRICS, NAME, Plan, judge
from tasks.measures.measure import Metrics
from tasks.texts.document import Document, Tables


async def _judge(plan: Evaluated, params: Params, ask: Asks, documents: Sequence[Document]) -> Tables:
    own = Plan(plan.sections, plan.citing, expected=plan.systems)
    return await judge(ask("judge"), documents, own, params.doclens)


def _metrics(params: Params) -> Metrics:
    """Those in degrees only where the judge grades."""
    graded = params.doclens.evaluator == "instruction" and params.doclens.style == "graded"
    return {**METRICS, **(GRADED if graded else {})}


_ALL = {**METRICS, **GRADED}
MEASURE = Declared(
    NAME,
    {name: _ALL[name] for one in METRICS for name in (one, f"{one}_graded") if name in _ALL},
    _judge,
    "doclens",
    _metrics,
    table="claims",
    cited="DocLens (Xie et al. 2024)",
    referenced=True,
    or_cited=True,
    marked=True,
)
