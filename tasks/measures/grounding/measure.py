"""The measure of claims of outputs against the source."""

from collections.abc import Sequence

from schemas.params import Params
from tasks.llm.calls import Asks
from tasks.measures.declared import Declared
from tasks.measures.declared import Plan as Evaluated
from tasks.measures.doclens.judging import Plan
from tasks.measures.grounding.grounding import METRICS, NAME, judge_by_source
from tasks.texts.document import Document, Tables


async def _judge(plan: Evaluated, params: Params, ask: Asks, documents: Sequence[Document]) -> Tables:
    own = Plan(plan.sections, expected=plan.systems)
    return await judge_by_source(ask("judge"), documents, own, params.doclens)


CITED = "claims supported by the source as FActScore's (Min et al. 2023)"
MEASURE = Declared(NAME, METRICS, _judge, "doclens", table="grounded", cited=CITED)
