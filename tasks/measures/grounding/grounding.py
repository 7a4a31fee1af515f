"""Judges every claim of an output against its source: supported, contradicted, or absent from it.

The share of supported claims is FActScore's precision (Min et al. 2023) and ragas' faithfulness with the document's own
source as the knowledge; DocLens's citation metrics ask the same of the sentences that a text cites (Section 3.3). No
reference is needed. Telling a contradiction from an addition is ours: people forgive an addition more often.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, Self

import pandas as pd
from pydantic import ValidationInfo, model_validator

from schemas.params.measures import DocLens
from schemas.tables.columns import typed
from schemas.tables.evaluate import GROUNDED
from tasks.llm.calls import Answer, Ask, Call, Reply, unscored_table
from tasks.llm.prompts import render
from tasks.llm.requests import tokens_needed
from tasks.measures.doclens import metrics as doclens
from tasks.measures.doclens.evaluators import VERDICT_TOKENS, Question, ask_in_parts
from tasks.measures.doclens.judging import Plan, Side, claims_of, failed_rows, lost_sections, plain_outputs
from tasks.measures.doclens.subclaims import Limits, incomplete
from tasks.text.sentences import COMPARISON
from tasks.texts.document import Document, Tables, split

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
class Grounding:
    """The verdicts on one question's claims, in their order, and the failure if some are None."""

    verdicts: tuple[Verdict | None, ...]
    reasons: tuple[str | None, ...]
    failure: str | None = None
    raw: str | None = None


async def ground(ask: Ask, questions: Sequence[Question], claims_a_call: int = 20) -> list[Grounding]:
    """Judge the claims of each question against its source, the premise, at most ``claims_a_call`` in a call."""
    asked = [question for question in questions if question.claims]
    found = iter(await ask_in_parts(ask, asked, claims_a_call, _call, _read))
    return [next(found) if question.claims else Grounding((), ()) for question in questions]


async def judge(ask: Ask, documents: Sequence[Document], plan: Plan, params: DocLens) -> Tables:
    """Judge the claims of all outputs, by section: the tables grounded (GROUNDED) and unscored (UNSCORED).

    Claims are listed by the request that lists them for claim precision. A text whose claims could not all be listed
    has, in addition to those that are known, one null verdict and an unscored row, as has a lost output or section.
    """
    limits = Limits.of(params)
    sides = [side for document in documents for side in _sides(document, plan)]
    known = await claims_of(ask, sides, limits)
    questions = [
        Question(f"{side.document}/{side.system}/{side.item}/grounding", side.premise, one.claims, heading=side.heading)
        for side, one in zip(sides, known, strict=True)
    ]
    rows, unscored = [], list[dict[str, str | None]]()
    grounded = await ground(ask, questions, params.claims_a_call)
    for side, claims, found in zip(sides, known, grounded, strict=True):
        about = {"document": side.document, "system": side.system, "item": side.item}
        judged = list(zip(claims.claims, found.verdicts, found.reasons, strict=True))
        lacking = incomplete(claims, limits)
        judged += [("", None, None)] if lacking is not None else []
        for at, (text, verdict, reason) in enumerate(judged):
            rows.append({**about, "position": at, "text": text, "verdict": verdict, "reason": reason})
        unscored += failed_rows(side, "claims", (lacking, claims.raw), (found.failure, found.raw))
    for document, system, item in lost_sections(documents, plan):
        rows.append({"document": document, "system": system, "item": item, "position": 0, "text": "", "verdict": None})
    return {"grounded": typed(rows, GROUNDED), "unscored": unscored_table(unscored)}


def _sides(document: Document, plan: Plan) -> Iterator[Side]:
    """Each section of each output, without citation marks, against the whole source."""
    for system, plain in plain_outputs(document, plan.citing).items():
        for item, text in split(plain, document, plan.sections).items():
            if item not in document.lost.get(system, ()):
                yield Side(document.id, system, item, "claim_precision", text, document.text, heading=document.heading)


def _call(question: Question) -> Call:
    claims = question.claims
    messages = render(
        __package__, "ground", source=question.premise, claims=claims, heading=question.heading, comparison=COMPARISON
    )
    least = tokens_needed("".join(claims), times=2) + VERDICT_TOKENS * len(claims)
    return Call(question.key, messages, reply=GroundedClaims, context={"claims": len(claims)}, least_tokens=least)


def _read(question: Question, answer: Answer) -> Grounding:
    size = len(question.claims)
    if not isinstance(answer.value, GroundedClaims):
        return Grounding((None,) * size, (None,) * size, answer.failure or "no verdicts in the reply", answer.raw)
    given = {one.claim: one for one in answer.value.verdicts}
    found = [given.get(number) for number in range(1, size + 1)]
    missing = sum(one is None for one in found)
    return Grounding(
        tuple(None if one is None else one.verdict for one in found),
        tuple(None if one is None else one.explanation.strip() or None for one in found),
        f"{missing} of {size} claims without a verdict" if missing else None,
        answer.text if missing else None,
    )


STAGE = "grounding"
SHARES = {"claims_supported": "supported", "claims_contradicted": "contradicted"}
"""Verdict counted by each metric. The rest of the claims are absent from the source."""


def judged_shares(grounded: pd.DataFrame) -> pd.DataFrame:
    """GROUNDED as judgements: for each metric, whether a claim has its verdict, null where it has none."""
    parts = []
    for metric, verdict in SHARES.items():
        judged = grounded["verdict"].eq(verdict).astype("boolean").mask(grounded["verdict"].isna())
        parts.append(grounded.assign(metric=metric, judged=judged, condition="source"))
    return pd.concat(parts, ignore_index=True).drop(columns=["verdict", "reason"])


def document_scores(grounded: pd.DataFrame) -> pd.DataFrame:
    """The shares of each output, as `tasks.measures.doclens.metrics.document_scores`."""
    return doclens.document_scores(judged_shares(grounded))


def metric_rows(grounded: pd.DataFrame, *, seed: int, provenance: str) -> pd.DataFrame:
    """METRICS of the shares by system and section: mean over documents, and pooled over claims."""
    return doclens.metric_rows(judged_shares(grounded), seed=seed, provenance=provenance, stage=STAGE)
