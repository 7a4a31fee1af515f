"""Statements of notes that people judged as right by the source or not."""

from collections.abc import Sequence

from tasks.llm.calls import Ask
from tasks.measures.declared import CLINICIAN, STRICT, OfPeople
from tasks.measures.doclens.evaluators import Question, Verdicts
from tasks.measures.grounding.grounding import ground
from tasks.measures.measure import Metric

_WRONG = Metric(of="claims_supported", words={"incorrect": 1.0})


async def read(ask: Ask, reading: str, questions: Sequence[Question], claims_a_call: int) -> list[Verdicts]:
    """What the source says of each statement, strictly or as a clinician would say."""
    return await ground(ask, questions, claims_a_call, clinician=reading == CLINICIAN)


PEOPLE = OfPeople(
    "statements",
    (STRICT, CLINICIAN),
    {
        f"statement wrong: {name}": (_WRONG, Metric(of="claims_supported", words=dict.fromkeys(words, 1.0)))
        for name, words in {"not supported": ("contradicted", "absent"), "contradicted": ("contradicted",)}.items()
    },
    read,
    values={"supported": 1.0, "contradicted": 0.0, "absent": 0.0},
)
