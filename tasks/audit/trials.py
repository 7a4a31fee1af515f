"""A judge's answers to the cases of a card, as rows of VERDICTS with what was asked.

`Nobody` answers nothing: with it, the rows are the cases.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files

import pandas as pd

from tasks.audit.errors import ERRORS_ASKED
from tasks.judges.cases import FIRST_PLACE, Asked, Cases, Given, Row, judge_made
from tasks.judges.consistency_checks import CONSISTENCY
from tasks.judges.edits import words
from tasks.llm.calls import Answer, Ask, Call
from tasks.measures.cases import CASES_OF
from tasks.measures.doclens.evaluators import Question

Rows = list[Row]
ON_CARD: Mapping[str, Cases] = {
    one.name: one
    for one in sorted(
        (one for own in ((CONSISTENCY,), *CASES_OF.values()) for one in own if one.asked), key=lambda one: one.place
    )
}
"""The cases of a card by task, in its order; but for errors that people made."""
ASKED: Mapping[str, Asked] = {
    **{metric: asked for one in ON_CARD.values() for metric, asked in one.asked.items()},
    **ERRORS_ASKED,
}
"""What is asked of a case by metric; the truth is the answer, yes or no."""


@cache
def _kinds() -> dict[str, tuple[str, str]]:
    found: dict[str, tuple[str, str]] = {}
    for package in ("tasks.audit", *(f"tasks.measures.{folder}" for folder in CASES_OF)):
        if files(package).joinpath("kinds.yaml").is_file():
            for difficulty, kinds in words("kinds", package).items():
                found |= {kind: (difficulty, reason) for kind, reason in kinds.items()}
    return found


def about_kind(kind: str) -> tuple[str, str]:
    """How difficult cases of a kind are (easy, medium or hard), and why their truth is certain."""
    name = kind.partition(": ")[2] or kind
    return _kinds()[name if name in _kinds() else name.partition(",")[0]]


class Nobody:
    """An `Ask` that answers nothing."""

    label = "nobody"

    async def __call__(self, calls: Sequence[Call]) -> list[Answer]:
        """A failure for each call."""
        return [Answer(call.key, failure="not asked") for call in calls]


class Take:
    """Asks the same once more: the requests differ in their sample alone."""

    def __init__(self, ask: Ask, take: int) -> None:
        self._ask, self._take, self.label = ask, take, ask.label

    async def __call__(self, calls: Sequence[Call]) -> list[Answer]:
        """Answer the calls with another sample index."""
        return await self._ask([replace(call, sample=self._take) for call in calls])


async def judge_cases(ask: Ask, cases: Cases, given: Given) -> Rows:
    """Verdicts on the cases of one task with what was asked; the letter of the task begins the names of its cases."""
    rows, _ = await judge_made(ask, cases, given)
    named = {"condition": "", "item": FIRST_PLACE, "pair": ""}
    return [
        row if "unit" in row else {**row, **named, "unit": name, "id": f"{name}/", "call": cases.letter + row["call"]}
        for at, row in enumerate(rows)
        for name in (f"{cases.letter}{at:04d}",)
    ]


async def judge_claims(ask: Ask, cases: Cases, claims: pd.DataFrame, given: Given) -> Rows:
    """Verdicts on claims (CASES) by a task that judges these, those that only fill a call included."""
    if cases.of_claims is None:
        return []
    calls = [group for _, group in claims.groupby("call", sort=False)]
    questions = [Question(one["call"].iloc[0], one["premise"].iloc[0], tuple(one["text"])) for one in calls]
    named, rows = ("unit", "id", "call"), Rows()
    for call, judged in zip(calls, await cases.of_claims(ask, questions, given.params), strict=True):
        for place, (row, one) in enumerate(zip(call.to_dict("records"), judged.judgements, strict=True)):
            about = {"metric": cases.name, **{name: f"{cases.letter}{row[name]}" for name in named}}
            own = {**row, **about} if cases.letter else row
            rows.append({**own, "value": None if one is None else float(one), "item": str(place)})
    return rows
