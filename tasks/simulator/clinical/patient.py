"""Age, sex and body temperature of the patient in a note."""

import re
from dataclasses import dataclass
from typing import Literal

from tasks.simulator.resources import load, vocabulary

_WORDS = vocabulary("clinical")
_AGE = re.compile(
    r"\b(?:aged?[ \t]+\d{1,3}\b(?!\s*(?:weeks?|months?|days?)\s+ago)"
    r"|\d{1,3}[ \t]*[-‐–]?[ \t]*(?:years?|yrs?)[ \t]*[-‐–]?[ \t]*(?:old|of[ \t]+age)\b"
    r"|\d{1,3}[ \t]*[-‐]?[ \t]*(?:y\.?/?o\.?|YO|y\.o\.)(?![A-Za-z])"
    r"|\d{1,3}[ \t]*[-‐]?[ \t]*(?:year|yr|y)s?[- \t]+(?:female|male|woman|man|lady|gentleman|patient)\b"
    r"|\d{2}[ \t]?(?:M|F|♂|♀)(?=[\s,.;:]|$)(?!\w)"
    rf"|(?:in|of)[ \t]+(?:(?:his|her|their)[ \t]+)?(?:early|mid|late)?[- \t]*{_WORDS['decades']}\b"
    rf"|{_WORDS['ages']}\b"
    rf"|(?:young|older|old|adult)[ \t]+{_WORDS['people']}\b)",
    re.IGNORECASE,
)
_SEX_WORDS = re.compile(rf"\b{_WORDS['sexes']}\b", re.IGNORECASE)
_SEX_MARKS = re.compile(r"[♂♀]|\b\d{2}[ \t]?(?:y/?o)?[ \t]?[MF]\b(?![°\w])|\b(?:WF|WM|F/|M/)\d{2}\b")
_NOT_PATIENT = re.compile(rf"{_WORDS['others']}\W+(?:\w+\W+){{0,6}}$", re.IGNORECASE)


@dataclass(frozen=True)
class Mention:
    """A stretch that states the patient's age or sex."""

    what: Literal["age", "sex"]
    start: int
    end: int


def find_age_and_sex(text: str) -> list[Mention]:
    """Find mentions of the patient's age or sex; pronouns that refer to another person are skipped."""
    found = [Mention("age", *match.span()) for match in _AGE.finditer(text) if not _is_measured(text, match)]
    for pattern in (_SEX_WORDS, _SEX_MARKS):
        for match in pattern.finditer(text):
            if match.group() == "MS" or _NOT_PATIENT.search(text, max(0, match.start() - 60), match.start()):
                continue
            found.append(Mention("sex", *match.span()))
    return sorted(found, key=lambda mention: mention.start)


def _is_measured(text: str, match: re.Match[str]) -> bool:
    """Whether "98 F" or "37 M" is a measurement, not an age with a sex."""
    before = text[max(0, match.start() - 14) : match.start()].lower()
    return match.group()[-1] in "MF" and bool(re.search(r"temp\w*\W*(?:\w+\W+)?$|\bt\W*$|[\d.°]$", before))


NORMAL_BELOW = 37.5
"""Lower bound of a raised temperature in degrees Celsius (99.5 °F)."""
HIGH_FROM = 38.6
"""Lower bound of a high temperature in degrees Celsius; near the bound either level is accepted, see `fits_level`."""
_SLACK = 0.35

_NUMBER = r"(?P<value>(?:3[4-9]|4[0-2]|9[4-9]|10[0-8])(?:[.,]\d)?)"
_DEGREES = r"(?:°|º|deg(?:rees)?\.?)"
_SCALE = r"(?P<unit>[CF]\b|Celsius|Fahrenheit)?"
_NAMED = re.compile(
    r"\b(?:temperatures?|temps?|tmax|T|t°)\b(?:\.|:|[ \t])*"
    rf"(?:{_WORDS['measured']}[ \t.:]*)*{_NUMBER}[ \t]*{_DEGREES}?[ \t]*{_SCALE}",
    re.IGNORECASE,
)
_WITH_UNIT = re.compile(rf"(?<![\d./]){_NUMBER}[ \t]*(?:{_DEGREES}[ \t]*{_SCALE}|(?P<bare>[CF])\b)")


@dataclass(frozen=True)
class Temperature:
    """A temperature in degrees Celsius; ``start`` includes the word that introduces it."""

    start: int
    end: int
    celsius: float


def temperature_level(celsius: float) -> str:
    """Return the level of a temperature in degrees Celsius: none, low or high."""
    if celsius < NORMAL_BELOW:
        return "none"
    return "low" if celsius < HIGH_FROM else "high"


def fits_level(celsius: float, level: str) -> bool:
    """Whether a temperature agrees with a level (none, low, high), with tolerance near the bounds."""
    if level == "none":
        return celsius < NORMAL_BELOW + _SLACK
    if level == "low":
        return NORMAL_BELOW - _SLACK <= celsius < HIGH_FROM + _SLACK
    return celsius >= HIGH_FROM - _SLACK - 0.3


def _celsius(value: str, unit: str | None) -> float | None:
    number = float(value.replace(",", "."))
    fahrenheit = (unit or "").upper().startswith("F") or (not unit and number > 60)
    found = (number - 32) / 1.8 if fahrenheit else number
    return round(found, 1) if 33 <= found <= 43 else None


def find_temperatures(text: str) -> list[Temperature]:
    """Return the temperatures of ``text`` in order: named ones ("T 38.2") and bare ones with a unit ("101.3 °F")."""
    found: list[Temperature] = []
    for pattern in (_NAMED, _WITH_UNIT):
        named = tuple(found)
        for match in pattern.finditer(text):
            celsius = _celsius(match["value"], match["unit"] or match.groupdict().get("bare"))
            if celsius is not None and not any(one.start <= match.start() < one.end for one in named):
                found.append(Temperature(match.start(), match.end(), celsius))
    return _joined(text, sorted(found, key=lambda one: one.start))


def _joined(text: str, found: list[Temperature]) -> list[Temperature]:
    """Merge a reading given in two units, or as a range, into one: the highest value over the whole stretch."""
    joined: list[Temperature] = []
    for one in found:
        between = text[joined[-1].end : one.start].strip().lower() if joined else "."
        if between in load("clinical", "words")["joints"]:
            last = joined.pop()
            one = Temperature(last.start, one.end, max(last.celsius, one.celsius))
        joined.append(one)
    return [Temperature(one.start, _closed(text, one), one.celsius) for one in joined]


def _closed(text: str, one: Temperature) -> int:
    """The end of a reading, after the bracket that closes one opened within it."""
    return one.end + ("(" in text[one.start : one.end] and text[one.end : one.end + 1] == ")")
