"""Statements about a symptom in two wordings: as an answer choice, and paraphrased."""

from dataclasses import dataclass

ABSENT = frozenset({"no", "none", "absent"})
UNKNOWN = "The notes do not tell"
"""Text of the choice that the notes do not answer the question."""


@dataclass(frozen=True)
class Wording:
    """A statement as an answer choice (``plain``) and paraphrased (``other``), for planted answers."""

    plain: str
    other: str


def finding(label: str, value: str) -> Wording:
    """State that a symptom has a value: ``finding("thirst", "high").plain`` is ``"high thirst"``."""
    if value in ABSENT:
        return Wording(f"no {label}", f"{label} is denied")
    if value == "yes":
        return Wording(label, f"{label} is reported")
    return Wording(f"{value} {label}", f"{label} is present and {value}")


def joined(parts: list[Wording]) -> Wording:
    """Join several findings into one statement."""
    plain, other = [p.plain for p in parts], [p.other for p in parts]
    return Wording(_list(plain).capitalize(), _list(other).capitalize())


def _list(words: list[str]) -> str:
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1]
