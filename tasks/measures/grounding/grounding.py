"""Judges every claim of an output against its source: supported, contradicted, or absent from it.

The share of supported claims is FActScore's precision (Min et al. 2023) and ragas' faithfulness with the document's own
source as the knowledge; DocLens's citation metrics ask the same of the sentences that a text cites (Section 3.3). No
reference is needed. Telling a contradiction from an addition is ours: people forgive an addition more often.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Literal, Self

from pydantic import ValidationInfo, model_validator

from schemas.params.measures import DocLens
from schemas.tables.verdicts import LOST, verdict_table
from tasks.llm.calls import Answer, Ask, Asks, Call, Reply, unscored_table
from tasks.llm.prompts import render
from tasks.llm.requests import tokens_needed
from tasks.measures.doclens.evaluators import VERDICT_TOKENS, Question, ask_in_parts
from tasks.measures.doclens.judging import Plan, Side, claims_of, failed_rows, lost_sections, plain_outputs
from tasks.measures.doclens.subclaims import Limits, incomplete
from tasks.measures.measure import Metric, Metrics
from tasks.text.sentences import COMPARISON
from tasks.texts.document import Document, Tables, split

NAME = "grounding"
# --8<-- [start:metrics]
METRICS: Metrics = {
    "claims_supported": Metric(
        compared=True,
        task="grounding",
        label="supported claims",
        meaning="share of the output's claims that the source supports",
    ),
    "claims_contradicted": Metric(
        of="claims_supported",
        words={"contradicted": 1.0},
        compared=True,
        label="contradicted",
        meaning="share of the output's claims that the source contradicts; lower is better",
    ),
}
# --8<-- [end:metrics]
"""The rest of the claims are absent from the source."""
Verdict = Literal["supported", "contradicted", "absent"]


class GroundedClaim(Reply):
    """One claim's number, the reason for the verdict, and what the source says of the claim."""

    claim: int
    explanation: str
    verdict: Verdict


class GroundedClaims(Reply):
    """A verdict with its reason for every claim, in order."""

    verdicts: list[GroundedClaim]

    @model_validator(mode="after")
    def _are_on_the_claims(self, info: ValidationInfo) -> Self:
        claims = (info.context or {}).get("claims", len(self.verdicts))
        numbers = [one.claim for one in self.verdicts]
        if wrong := next((number for number in numbers if not 1 <= number <= claims), None):
            raise ValueError(f"claim {wrong} is not one of 1 to {claims}")
        if twice := next((number for number in numbers if numbers.count(number) > 1), None):
            raise ValueError(f"claim {twice} has two verdicts")
        return self


@dataclass(frozen=True)
class Grounded:
    """The verdicts on one question's claims, in their order, and the failure if some are None."""

    verdicts: tuple[Verdict | None, ...]
    reasons: tuple[str | None, ...]
    failure: str | None = None
    raw: str | None = None


async def ground(
    ask: Ask, questions: Sequence[Question], claims_a_call: int = 20, *, clinician: bool = False
) -> list[Grounded]:
    """Judge the claims of each question against its source, the premise, at most ``claims_a_call`` in a call.

    ``clinician``: as a clinician reads the claims, who lets stand what the source comes to.
    """
    asked, call = [question for question in questions if question.claims], partial(_call, clinician=clinician)
    found = iter(await ask_in_parts(ask, asked, claims_a_call, call, _read))
    return [next(found) if question.claims else Grounded((), ()) for question in questions]


@dataclass(frozen=True)
class Grounding:
    """The measure: claims of outputs by section, without citation marks, against the whole source.

    Claims are listed by the request that lists them for claim precision. A text whose claims could not all be listed
    has, in addition to those that are known, one failed verdict and an unscored row, as has a lost output or section.
    """

    plan: Plan
    params: DocLens
    name: str = NAME
    metrics: Metrics = field(default_factory=lambda: METRICS)

    async def judge(self, ask: Asks, documents: Sequence[Document]) -> Tables:
        """Judge the claims of all outputs: the tables verdicts and unscored."""
        judge, limits = ask("judge"), Limits.of(self.params)
        sides = [side for document in documents for side in _sides(document, self.plan)]
        known = await claims_of(judge, sides, limits)
        keys = [f"{side.document}/{side.system}/{side.item}/grounding" for side in sides]
        questions = [
            Question(key, side.premise, one.claims, heading=side.heading)
            for key, side, one in zip(keys, sides, known, strict=True)
        ]
        rows, unscored = [], list[dict[str, str | None]]()
        clinician = self.params.style == "clinician"
        grounded = await ground(judge, questions, self.params.claims_a_call, clinician=clinician)
        asked = {"condition": "source, clinician" if clinician else "source", "metric": "claims_supported"}
        for side, claims, found in zip(sides, known, grounded, strict=True):
            about = {"document": side.document, "system": side.system, "item": side.item, **asked}
            judged = list(zip(claims.claims, found.verdicts, found.reasons, strict=True))
            lacking = incomplete(claims, limits)
            judged += [("", None, None)] if lacking is not None else []
            for at, (text, verdict, reason) in enumerate(judged):
                value = None if verdict is None else float(verdict == "supported")
                said = {"unit": str(at), "text": text, "value": value, "verdict": verdict, "reason": reason}
                rows.append({**about, **said})
            unscored += failed_rows(side, "claims", (lacking, claims.raw), (found.failure, found.raw))
        for document, system, item in lost_sections(documents, self.plan):
            lost = {"document": document, "system": system, "item": item, "unit": LOST, "text": "", "value": None}
            rows.append({**lost, **asked})
        return {"verdicts": verdict_table(rows, judge=judge.label), "unscored": unscored_table(unscored)}


def _sides(document: Document, plan: Plan) -> Iterator[Side]:
    """Each section of each output, without citation marks, against the whole source."""
    for system, plain in plain_outputs(document, plan.citing).items():
        for item, text in split(plain, document, plan.sections).items():
            if item not in document.lost.get(system, ()):
                yield Side(document.id, system, item, "claim_precision", text, document.text, heading=document.heading)


def _call(question: Question, clinician: bool) -> Call:
    claims, prompt = question.claims, "ground_clinician" if clinician else "ground"
    messages = render(
        __package__, prompt, source=question.premise, claims=claims, heading=question.heading, comparison=COMPARISON
    )
    least = tokens_needed("".join(claims), times=2) + VERDICT_TOKENS * len(claims)
    return Call(question.key, messages, reply=GroundedClaims, context={"claims": len(claims)}, least_tokens=least)


def _read(question: Question, answer: Answer) -> Grounded:
    size = len(question.claims)
    if not isinstance(answer.value, GroundedClaims):
        return Grounded((None,) * size, (None,) * size, answer.failure or "no verdicts in the reply", answer.raw)
    given = {one.claim: one for one in answer.value.verdicts}
    found = [given.get(number) for number in range(1, size + 1)]
    missing = sum(one is None for one in found)
    return Grounded(
        tuple(None if one is None else one.verdict for one in found),
        tuple(None if one is None else one.explanation.strip() or None for one in found),
        f"{missing} of {size} claims without a verdict" if missing else None,
        answer.text if missing else None,
    )
