"""A model as a further rater, with the instructions that people get."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
from pydantic import Field, ValidationInfo, field_validator

from tasks.llm.ask_all import ask_all
from tasks.llm.calls import Ask, Call, Reply, unscored_table
from tasks.llm.prompts import render
from tasks.people.rating_form import RatedNote, Rubric, rating_verdicts

STEP = "review/rating"


class Rating(Reply):
    """The reasons, then the codes of the penalties given, and the five ratings from 1 (worst) to 5 (best)."""

    reason: str = Field(description="why these penalties and ratings are given")
    penalties: list[str]
    realism_history: int = Field(ge=1, le=5)
    realism_physical_examination: int = Field(ge=1, le=5)
    clinical_accuracy: int = Field(ge=1, le=5)
    compact_content: int = Field(ge=1, le=5)
    compact_readability: int = Field(ge=1, le=5)

    @field_validator("penalties")
    @classmethod
    def _are_in_the_prompt(cls, given: list[str], info: ValidationInfo) -> list[str]:
        known = (info.context or {}).get("penalties")
        return given if known is None else [_known_code(code, known) for code in given]


def _known_code(given: str, known: Sequence[str]) -> str:
    """The code of a penalty, which a model may write in brackets, in another case or with its label."""
    written = given.strip().lstrip("[").split("]")[0].split(":")[0].strip().casefold()
    for code in known:
        if code.casefold() == written:
            return code
    raise ValueError(f"{given[:80]!r} is not the code of a penalty; codes are {', '.join(known)}")


async def rate_notes(drawn: pd.DataFrame, rubric: Rubric, ask: Ask, rater: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Have each drawn note (REVIEW_NOTES) rated: `rating_verdicts` and UNSCORED.

    A failed call, or a penalty for an item that is not in the prompt, leaves the note without ratings of this rater.
    """
    calls = {int(row["record"]): rating_call(row, rubric) for row in drawn.sort_values("record").to_dict("records")}
    given, unscored = await ask_all(ask, calls, Rating, STEP)
    rated = [(rater, [_rated(*one) for one in given.items()])]
    return rating_verdicts(drawn, rated, "model"), unscored_table(unscored)


def rating_call(row: Mapping[Any, Any], rubric: Rubric) -> Call:
    """The request to rate one note."""
    fields = {name: row[name] for name in ("prompt", "note", "compact")}
    parts = json.loads(row["parts"])
    codes = [f"{part['part']}/{item['item']}" for part in parts for item in part["items"]]
    messages = render(__package__, "rate", rubric=rubric, parts=parts, **fields)
    return Call(f"{row['record']}/{STEP}", messages, reply=Rating, context={"penalties": codes})


def _rated(record: int, rating: Rating) -> RatedNote:
    given = rating.model_dump(exclude={"reason"})
    penalties: dict[str, list[str]] = {}
    for code in sorted(set(given.pop("penalties"))):
        part, item = code.split("/", 1)
        penalties.setdefault(part, []).append(item)
    return RatedNote(record=record, penalties=penalties, ratings=given)
