"""The cases of grounding: the claims of a card, judged as those of an output whose source is the text."""

from collections.abc import Sequence

from schemas.params import Params
from schemas.tables.verdicts import Judgement
from tasks.judges.cases import Asked, Cases
from tasks.llm.calls import Ask
from tasks.measures.doclens.evaluators import Question
from tasks.measures.grounding.grounding import ground


async def supported(ask: Ask, questions: Sequence[Question], params: Params) -> list[tuple[Judgement, ...]]:
    """Whether the premise supports each claim."""
    return [found.judgements for found in await ground(ask, questions, params.doclens.claims_a_call)]


CASES = (
    Cases(
        "grounding",
        asked={"grounding": Asked("Does the text support the claim?", "supported claims", "unsupported claims", True)},
        place=2,
        letter="g",
        of_claims=supported,
    ),
)
