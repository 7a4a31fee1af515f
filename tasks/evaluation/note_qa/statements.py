"""What a note can say of a symptom, worded twice: as in answer choices, and otherwise."""

from dataclasses import dataclass

ABSENT = frozenset({"no", "none", "absent"})
NOT_TOLD = "The notes do not tell"


@dataclass(frozen=True)
class Wording:
    """Statements in the wording of answer choices (``plain``) and in another (``other``), for planted answers."""

    plain: str
    other: str


def finding(label: str, value: str) -> Wording:
    """That a symptom has a value: ``finding("fever", "high")``."""
    if value in ABSENT:
        return Wording(f"no {label}", f"{label} is denied")
    if value == "yes":
        return Wording(label, f"{label} is reported")
    return Wording(f"{value} {label}", f"{label} is present and {value}")


def joined(parts: list[Wording]) -> Wording:
    """Several findings as one statement."""
    plain, other = [p.plain for p in parts], [p.other for p in parts]
    return Wording(_list(plain).capitalize(), _list(other).capitalize())


def _list(words: list[str]) -> str:
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1]
