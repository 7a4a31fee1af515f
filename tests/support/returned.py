"""Returned files of forms, as their pages write them."""

import json
from collections.abc import Iterable, Mapping
from typing import Any, Protocol

import pandas as pd

from schemas.tables.people import SCALES


class AnyForm(Protocol):
    """What names a form in its files."""

    format: str
    id: str


def file_of(form: AnyForm, /, rater: str = "r", **parts: Any) -> str:
    """A returned file: ``parts`` are its rows by their kind, and entries that differ."""
    return json.dumps({"format": form.format, "form": form.id, "rater": rater} | parts)


def rated(records: Iterable[int] = (4, 9, 12), penalties: Mapping[int, dict] | None = None) -> list[dict[str, Any]]:
    """Ratings of 4 of each note, with the penalties of some."""
    given = penalties or {}
    return [
        {"record": int(r), "penalties": given.get(r, {}), "ratings": dict.fromkeys(SCALES, 4), "comment": ""}
        for r in records
    ]


def validated(records: Iterable[str], included: Iterable[str], category: str = "critical") -> list[dict[str, Any]]:
    """Whether clinicians find each fact included, with one diagnosis that it supports."""
    same = {"supports": 1, "refutes": 0, "category": category}
    return [{"record": r, "included": said, **same} for r, said in zip(records, included, strict=False)]


def kept(questions: pd.DataFrame) -> list[dict[str, Any]]:
    """Questions that are kept as they are."""
    return [
        {"record": one.question, "decision": "keep", "wording": one.wording, "choices": json.loads(one.choices),
         "answer": one.answer}
        for one in questions.itertuples()
    ]  # fmt: skip
