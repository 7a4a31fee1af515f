"""Breaks texts into subclaims by asking the judge (DocLens, Section 3.1), in rounds until a text is covered.

The released prompt asks for one to thirty claims at once, and a model that finds more merges facts to keep within the
limit. Here a reply with as many claims as may be listed at once is followed by a request for the rest.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from pydantic import ValidationInfo, field_validator

from schemas.params.measures import DocLens
from tasks.llm.calls import Answer, Ask, Call, Reply
from tasks.llm.prompts import render
from tasks.llm.requests import tokens_needed


class Subclaims(Reply):
    """Single facts that the text states, each as a full sentence."""

    lists: ClassVar[bool] = True
    claims: list[str]

    @field_validator("claims")
    @classmethod
    def _are_not_empty(cls, given: list[str], info: ValidationInfo) -> list[str]:
        if not any(claim.strip() for claim in given) and not (info.context or {}).get("listed"):
            raise ValueError("no claims are listed")
        return given


@dataclass(frozen=True)
class Claims:
    """The claims of one text, or the reason why they are missing.

    ``more``: the last reply allowed was full, so the text may state more than the claims.
    """

    claims: tuple[str, ...]
    failure: str | None = None
    raw: str | None = None
    more: bool = False


async def list_subclaims(
    ask: Ask, texts: Mapping[str, str], params: DocLens, headings: Mapping[str, str] | None = None
) -> dict[str, Claims]:
    """List the claims of each text, by key. Empty texts have none and need no call; duplicates are dropped.

    ``headings``: the heading of a record that the text stands under, by key, where it is known. A text whose later
    round fails has the failure and no claims, because its list is incomplete.
    """
    found, limit = {key: Claims(()) for key in texts}, params.claims_a_reply
    waiting = [key for key, text in texts.items() if text.strip()]
    for number in range(params.claim_rounds if waiting else 0):
        calls = []
        for key in waiting:
            listed, step = found[key].claims, f"{key}/subclaims" + (f"/{number}" if number else "")
            about = {"text": texts[key], "heading": (headings or {}).get(key), "listed": listed, "limit": limit}
            least = tokens_needed(texts[key], times=3)
            messages, context = render(__package__, "subclaims", **about), {"listed": bool(listed)}
            calls.append(Call(step, messages, reply=Subclaims, context=context, least_tokens=least))
        for key, answer in zip(waiting, await ask(calls), strict=True):
            found[key] = _extended(found[key], answer, limit)
        waiting = [key for key in waiting if found[key].more]
        if not waiting:
            break
    return found


def incomplete(claims: Claims, params: DocLens) -> str | None:
    """Why some claims of the text are not known."""
    if claims.more:
        limits = f"{params.claim_rounds} replies of {params.claims_a_reply}"
        return f"more claims than {limits} (doclens.claim_rounds, claims_a_reply)"
    return claims.failure


def _extended(before: Claims, answer: Answer, limit: int) -> Claims:
    if not isinstance(answer.value, Subclaims):
        return Claims((), answer.failure or "no claims in the reply", answer.raw or answer.text)
    given = [claim.strip() for claim in answer.value.claims if claim.strip()]
    claims = tuple(dict.fromkeys((*before.claims, *given)))
    return replace(before, claims=claims, more=len(given) >= limit and len(claims) > len(before.claims))
