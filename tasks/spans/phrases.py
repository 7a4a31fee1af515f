"""Types shared by the steps of span annotation."""

from dataclasses import dataclass

Failures = list[dict[str, str | None]]
"""Rows of the unscored table."""


@dataclass(frozen=True)
class Phrase:
    """A phrase that a model gave for a symptom (column name) of a record's note, not yet located."""

    record: int
    symptom: str
    text: str


@dataclass(frozen=True)
class Located:
    """``note[start:end]`` mentions ``symptom``; ``matched`` is one of `schemas.tables.spans.MATCH_KINDS`."""

    record: int
    symptom: str
    start: int
    end: int
    matched: str
