"""What the span questions pass on: phrases before they have a place, and where they were found."""

from dataclasses import dataclass

Failures = list[dict[str, str | None]]
"""Rows of the unscored table."""


@dataclass(frozen=True)
class Phrase:
    """A phrase of a record's note that a model names for a symptom (column name); not yet matched."""

    record: int
    symptom: str
    text: str


@dataclass(frozen=True)
class Located:
    """``note[start:end]`` tells of ``symptom``; ``matched`` is one of `schemas.tables.spans.MATCH_KINDS`."""

    record: int
    symptom: str
    start: int
    end: int
    matched: str
