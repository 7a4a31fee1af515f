"""A model as a further rater, with the instructions that people get."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
from pydantic import Field, ValidationInfo, field_validator

from tasks.evaluation.expert_review.form import FORMAT
from tasks.evaluation.expert_review.returned import RatedNote, Returned, ReturnedForm, tables
from tasks.evaluation.expert_review.rubric import rubric
from tasks.llm.calls import Answer, Ask, Call, Reply
from tasks.llm.prompts import render

STEP = "review/rating"


class Rating(Reply):
    """Codes of the penalties given, and the five ratings from 1 (worst) to 5 (best)."""

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


async def rate_notes(drawn: pd.DataFrame, form: str, ask: Ask, rater: str) -> tuple[Returned, pd.DataFrame]:
    """Have each drawn note (REVIEW_NOTES) rated under the id ``form`` of their draw: (Returned, UNSCORED).

    A failed call, or a penalty for an item that is not in the prompt, leaves the note without ratings of this rater.
    """
    rows = drawn.sort_values("record").to_dict("records")
    answers = await ask([rating_call(row) for row in rows])
    notes, unscored = [], []
    for row, answer in zip(rows, answers, strict=True):
        if answer.failure:
            unscored.append((str(row["record"]), STEP, answer.failure, answer.raw or answer.text))
        else:
            notes.append(_rated(int(row["record"]), answer))
    returned = ReturnedForm(format=FORMAT, form=form, rater=rater, notes=notes)
    columns = ["record", "step", "reason", "detail"]
    return tables([returned], "model"), pd.DataFrame(unscored, columns=columns).astype(dict.fromkeys(columns, str))


def rating_call(row: Mapping[Any, Any]) -> Call:
    """The request to rate one note."""
    fields = {name: row[name] for name in ("prompt", "note", "compact")}
    parts = json.loads(row["parts"])
    codes = [f"{part['part']}/{item['item']}" for part in parts for item in part["items"]]
    messages = render(__package__, "rate", rubric=rubric(), parts=parts, **fields)
    return Call(f"{row['record']}/{STEP}", messages, reply=Rating, context={"penalties": codes})


def _rated(record: int, answer: Answer) -> RatedNote:
    assert isinstance(answer.value, Rating)
    given = answer.value.model_dump()
    penalties: dict[str, list[str]] = {}
    for code in sorted(set(given.pop("penalties"))):
        part, item = code.split("/", 1)
        penalties.setdefault(part, []).append(item)
    return RatedNote(record=record, penalties=penalties, ratings=given)
