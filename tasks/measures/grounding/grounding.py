"""Judges every claim of an output against its source: supported, contradicted, or absent from it.

The share of supported claims is FActScore's precision (Min et al. 2023) and ragas' faithfulness with the document's own
source as the knowledge; DocLens's citation metrics ask the same of the sentences that a text cites (Section 3.3). No
reference is needed. Telling a contradiction from an addition is ours: people forgive an addition more often.
"""

from collections.abc import Sequence
from functools import partial
from typing import Literal

from schemas.params.measures import DocLens
from schemas.tables.verdicts import verdict_table
from tasks.llm.calls import Ask, Call, Reply, unscored_table
from tasks.llm.prompts import render
from tasks.measures.doclens.evaluators import (
    NumberedVerdicts,
    Question,
    Verdicts,
    ask_in_parts,
    read_verdicts,
    tokens_for_verdicts,
)
from tasks.measures.doclens.judging import Plan, Side, judge_sides, lost_rows
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


class GroundedClaim(Reply):
    """One claim's number, the reason for the verdict, and what the source says of the claim."""

    claim: int
    explanation: str
    verdict: Literal["supported", "contradicted", "absent"]


class GroundedClaims(NumberedVerdicts):
    """A verdict with its reason for every claim, in order."""

    verdicts: list[GroundedClaim]


async def ground(
    ask: Ask, questions: Sequence[Question], claims_a_call: int = 20, *, clinician: bool = False
) -> list[Verdicts]:
    """Judge the claims of each question against its source, the premise, at most ``claims_a_call`` in a call.

    ``clinician``: as a clinician reads the claims, who lets stand what the source comes to.
    """
    prompt = "ground_clinician" if clinician else "ground"

    def call(question: Question) -> Call:
        about = {"source": question.premise, "claims": question.claims, "heading": question.heading}
        messages = render(__package__, prompt, **about, comparison=COMPARISON)
        context, least = {"claims": len(question.claims)}, tokens_for_verdicts(question.claims)
        return Call(question.key, messages, reply=GroundedClaims, context=context, least_tokens=least)

    return await ask_in_parts(ask, questions, claims_a_call, call, read_verdicts)


async def judge_by_source(ask: Ask, documents: Sequence[Document], plan: Plan, params: DocLens) -> Tables:
    """Judge claims of outputs by section against the whole source: verdicts and unscored.

    Citation marks have to be taken out before. Claims are listed by the request that lists them for claim precision. A
    text whose claims could not all be listed has, in addition to those that are known, one failed verdict and an
    unscored row, as has a lost output or section.
    """
    clinician = params.style == "clinician"
    sides = [
        Side(document, system, item, "claims_supported", text, document.text)
        for document in documents
        for system, output in document.outputs.items()
        for item, text in split(output, document, plan.sections).items()
        if item not in document.lost.get(system, ())
    ]
    by_source = partial(ground, ask, claims_a_call=params.claims_a_call, clinician=clinician)
    rows, unscored = await judge_sides(ask, sides, by_source, params, "claims")
    rows += lost_rows(documents, plan, lambda *_: ("claims_supported",))
    condition = "source, clinician" if clinician else "source"
    verdicts = verdict_table([{**row, "condition": condition} for row in rows], judge=ask.label)
    return {"verdicts": verdicts, "unscored": unscored_table(unscored)}
