"""Mentions of a patient's age or sex."""

import re
from dataclasses import dataclass
from typing import Literal

_AGE = re.compile(
    r"\b(?:aged?[ \t]+\d{1,3}\b(?!\s*(?:weeks?|months?|days?)\s+ago)"
    r"|\d{1,3}[ \t]*[-‐–]?[ \t]*(?:years?|yrs?)[ \t]*[-‐–]?[ \t]*(?:old|of[ \t]+age)\b"
    r"|\d{1,3}[ \t]*[-‐]?[ \t]*(?:y\.?/?o\.?|YO|y\.o\.)(?![A-Za-z])"
    r"|\d{1,3}[ \t]*[-‐]?[ \t]*(?:year|yr|y)s?[- \t]+(?:female|male|woman|man|lady|gentleman|patient)\b"
    r"|\d{2}[ \t]?(?:M|F|♂|♀)(?=[\s,.;:]|$)(?!\w)"
    r"|(?:in|of)[ \t]+(?:(?:his|her|their)[ \t]+)?"
    r"(?:early|mid|late)?[- \t]*(?:twenties|thirties|forties|fifties|sixties"
    r"|seventies|eighties|nineties|\d0['’]?s)\b"
    r"|(?:elderly|middle[- ]aged|teenage|adolescent|octogenarian|septuagenarian|pensioner|retiree)\b"
    r"|(?:young|older|old|adult)[ \t]+(?:woman|man|lady|gentleman|male|female|boy|girl|patient|adult)\b)",
    re.IGNORECASE,
)
_SEX_WORDS = re.compile(
    r"\b(?:he|she|his|hers|her|him|himself|herself|wom[ae]n|(?<!sales)(?<!crafts)m[ae]n|lady|ladies|gentlem[ae]n|female|"
    r"male|boy|girl|mrs?|ms|mr|"
    r"housewife|grandmother|grandfather|mother of|father of|pregnant|menopausal|postmenopausal)\b",
    re.IGNORECASE,
)
_SEX_MARKS = re.compile(r"[♂♀]|\b\d{2}[ \t]?(?:y/?o)?[ \t]?[MF]\b(?![°\w])|\b(?:WF|WM|F/|M/)\d{2}\b")
_NOT_PATIENT = re.compile(
    r"(?:partner|spouse|wife|husband|mother|father|sister|brother|son|daughter|friend|colleague|boss|child|neighbou?r"
    r"|doctor|physician|nurse)\W+(?:\w+\W+){0,6}$",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Mention:
    """A stretch that states the patient's age or sex."""

    what: Literal["age", "sex"]
    start: int
    end: int


def find(text: str) -> list[Mention]:
    """Find mentions of the patient's age or sex; pronouns that refer to another person are skipped."""
    found = [
        Mention("age", match.start(), match.end()) for match in _AGE.finditer(text) if not _is_reading(text, match)
    ]
    for pattern in (_SEX_WORDS, _SEX_MARKS):
        for match in pattern.finditer(text):
            if match.group() == "MS" or _NOT_PATIENT.search(text, max(0, match.start() - 60), match.start()):
                continue
            found.append(Mention("sex", match.start(), match.end()))
    return sorted(found, key=lambda mention: mention.start)


def _is_reading(text: str, match: re.Match[str]) -> bool:
    """Whether "98 F" or "37 M" is a measurement, not an age with a sex."""
    before = text[max(0, match.start() - 14) : match.start()].lower()
    return match.group()[-1] in "MF" and bool(re.search(r"temp\w*\W*(?:\w+\W+)?$|\bt\W*$|[\d.°]$", before))
