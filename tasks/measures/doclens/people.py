"""Claims that people judged as entailed by an output or not."""

from collections.abc import Sequence
from dataclasses import replace

from tasks.llm.calls import Ask
from tasks.measures.declared import CLINICIAN, STRICT, OfPeople
from tasks.measures.doclens.evaluators import InstructionEvaluator, Question, Style, Verdicts
from tasks.measures.measure import Metric

_ENTAILS = {True: "entailed", False: "not entailed", None: None}
_ENTAILED = Metric(of="claim_recall")


async def read(ask: Ask, reading: str, questions: Sequence[Question], claims_a_call: int) -> list[Verdicts]:
    """Whether each claim is entailed, strictly or as a clinician would say."""
    style: Style = "clinician" if reading == CLINICIAN else "json_cot"
    found = await InstructionEvaluator(ask, style, claims_a_call=claims_a_call)(questions)
    return [replace(own, units=tuple((one, why, _ENTAILS[one]) for one, why, _ in own.units)) for own in found]


PEOPLE = OfPeople(
    "claims",
    (STRICT, CLINICIAN),
    {"claim entailed": (_ENTAILED, _ENTAILED)},
    read,
    values={"entailed": 1.0, "not entailed": 0.0},
    of_output=True,
)
