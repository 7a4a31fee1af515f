"""Breaks texts into subclaims by asking the judge (DocLens, Section 3.1): one to thirty claims, one fact each."""

from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import field_validator

from tasks.llm.calls import Ask, Call, Reply
from tasks.llm.prompts import render

LIMIT = 30


class Subclaims(Reply):
    """All single facts that the text states, each as a full sentence."""

    claims: list[str]

    @field_validator("claims")
    @classmethod
    def _are_not_empty(cls, given: list[str]) -> list[str]:
        if not any(claim.strip() for claim in given):
            raise ValueError("no claims are listed")
        return given


@dataclass(frozen=True)
class Claims:
    """The claims of one text, or the reason why they are missing."""

    claims: tuple[str, ...]
    failure: str | None = None
    raw: str | None = None


async def list_subclaims(ask: Ask, texts: Mapping[str, str], *, limit: int = LIMIT) -> dict[str, Claims]:
    """List the claims of each text, by key. Empty texts have none and need no call; duplicates are dropped."""
    asked = {key: text for key, text in texts.items() if text.strip()}
    calls = [
        Call(
            f"{key}/subclaims", render("tasks.evaluation.doclens", "subclaims", text=text, limit=limit), reply=Subclaims
        )
        for key, text in asked.items()
    ]
    found: dict[str, Claims] = {key: Claims(()) for key in texts}
    for key, answer in zip(asked, await ask(calls), strict=True):
        if isinstance(answer.value, Subclaims):
            kept = dict.fromkeys(claim.strip() for claim in answer.value.claims if claim.strip())
            found[key] = Claims(tuple(kept)[:limit])
        else:
            found[key] = Claims((), answer.failure or "no claims in the reply", answer.raw or answer.text)
    return found
