"""Body temperatures in a note, and their levels."""

import re
from dataclasses import dataclass

NORMAL_BELOW = 37.5
"""Lower bound of a raised temperature in degrees Celsius (99.5 °F)."""
HIGH_FROM = 38.6
"""Lower bound of a high temperature in degrees Celsius; near the bound either level is accepted, see `fits`."""
_SLACK = 0.35

_NUMBER = r"(?P<value>(?:3[4-9]|4[0-2]|9[4-9]|10[0-8])(?:[.,]\d)?)"
_UNIT = r"[ \t]*(?:°|º|deg(?:rees)?\.?)?[ \t]*(?P<unit>[CF]\b|Celsius|Fahrenheit)?"
_NAMED = re.compile(
    r"\b(?:temperatures?|temps?|tmax|T|t°)\b(?:\.|:|[ \t])*"
    r"(?:(?:of|at|is|was|as|up|to|reading|readings|readings|reached|reaching|peaked|peaking|recorded|measured|elevated|"
    r"mildly|slightly|normal|high|noted|around|about|approximately|approx|consistently|between|(?:=|~|↑|:))[ \t.:]*)*"
    + _NUMBER
    + _UNIT,
    re.IGNORECASE,
)
_WITH_UNIT = re.compile(
    r"(?<![\d./])"
    + _NUMBER
    + r"[ \t]*(?:(?:°|º|deg(?:rees)?\.?)[ \t]*(?P<unit>[CF]\b|Celsius|Fahrenheit)?|(?P<bare>[CF])\b)"
)


@dataclass(frozen=True)
class Reading:
    """A temperature in degrees Celsius; ``start`` includes the word that introduces it."""

    start: int
    end: int
    celsius: float

    @property
    def level(self) -> str:
        """Level of the reading: none, low or high."""
        return level(self.celsius)


def level(celsius: float) -> str:
    """Return the level of a temperature in degrees Celsius: none, low or high."""
    if celsius < NORMAL_BELOW:
        return "none"
    return "low" if celsius < HIGH_FROM else "high"


def fits(celsius: float, level: str) -> bool:
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


def find(text: str) -> list[Reading]:
    """Return the temperatures of ``text`` in order: named ones ("T 38.2") and bare ones with a unit ("101.3 °F")."""
    readings: list[Reading] = []
    for match in _NAMED.finditer(text):
        celsius = _celsius(match["value"], match["unit"])
        if celsius is not None:
            readings.append(Reading(match.start(), match.end(), celsius))
    for match in _WITH_UNIT.finditer(text):
        celsius = _celsius(match["value"], match["unit"] or match["bare"])
        if celsius is not None and not any(r.start <= match.start() < r.end for r in readings):
            readings.append(Reading(match.start(), match.end(), celsius))
    return _joined(text, sorted(readings, key=lambda reading: reading.start))


def _joined(text: str, readings: list[Reading]) -> list[Reading]:
    """Merge a reading given in two units, or as a range, into one: the highest value over the whole stretch."""
    joined: list[Reading] = []
    for reading in readings:
        between = text[joined[-1].end : reading.start].strip().lower() if joined else "."
        if between in (
            "(",
            "/",
            "-",
            "–",
            "to",
            "and",
            ")-",
            ") to",
            ") and",
            ")and",
            "or",
            ") –",
            "–",
            "=",
            ",",
            ", or",
            "-",
        ):
            last = joined.pop()
            reading = Reading(last.start, reading.end, max(last.celsius, reading.celsius))
        joined.append(reading)
    return [
        Reading(r.start, r.end + (text[r.start : r.end].count("(") > 0 and text[r.end : r.end + 1] == ")"), r.celsius)
        for r in joined
    ]
