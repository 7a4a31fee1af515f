"""Differences between a note and its compact version: symptoms, descriptions, measurements, sides, conditions."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from tasks.domains.in_use import domain_cache
from tasks.simulator.annotator.mentions import about, mentions
from tasks.simulator.clinical import abbreviations, findings
from tasks.simulator.clinical.descriptors import says
from tasks.simulator.clinical.similarity import words
from tasks.simulator.clinical.vocabulary import reading, symptoms

_WORDS = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen"
_NUMBERS = {word: str(value) for value, word in enumerate(_WORDS.split())} | {
    "a": "1",
    "an": "1",
    "couple": "2",
    "single": "1",
}
_SHORT_UNITS = {
    "day": "d day days",
    "week": "w wk wks week weeks",
    "month": "mo mos month months m",
    "year": "y yr yrs year years",
}
_UNITS = {form: unit for unit, forms in _SHORT_UNITS.items() for form in forms.split()} | dict.fromkeys(
    ("h", "hr", "hrs", "hour", "hours"), "hour"
)


def _any_of(words: Iterable[str]) -> str:
    return "|".join(sorted(words, key=len, reverse=True))


_DURATION = re.compile(
    rf"(?<![A-Za-z\d./-])(?:(\d{{1,3}})(?:[ \t]*[-–][ \t]*\d{{1,2}})?[ \t-]*|"
    rf"\b({_any_of(_NUMBERS)})[ \t-]+(?:full[ \t]+)?)"
    rf"({_any_of(_UNITS)})\b(?!/)(?!\.\d)",
    re.IGNORECASE,
)
_SIDE = re.compile(
    r"\b(right|left|rt|lt)\b(?!-hand)(?:[- ](?:sided|side of the|side|of the))?(?:[ \t]+([A-Za-z]+))?", re.IGNORECASE
)


@dataclass(frozen=True)
class Difference:
    """A detail of the note that is lost or changed in the compact version, in the note's words."""

    kind: str  # "lost" or "changed"
    detail: str


@domain_cache(maxsize=256)
def differences(note: str, compact: str) -> tuple[Difference, ...]:
    """Return the details of ``note`` that ``compact`` loses or changes; empty when it keeps them all."""
    found = [*_symptoms(note, compact), *_temperatures(note, compact), *_durations(note, compact)]
    found += [*_descriptions(note, compact), *_sides(note, compact), *_conditions(note, compact)]
    return tuple(found)


def _symptoms(note: str, compact: str) -> Iterator[Difference]:
    for symptom in symptoms():
        ours = [f for f in mentions(note, symptom) if f.kind not in ("measured", "weak", "feature")]
        theirs = mentions(compact, symptom)
        if not ours:
            continue
        stated, kept = {f.polarity for f in ours}, {f.polarity for f in theirs}
        if not theirs:
            yield Difference("lost", ours[0].text)
        elif not stated & kept:
            yield Difference("changed", ours[0].text)


def _temperatures(note: str, compact: str) -> Iterator[Difference]:
    """Temperatures in the compact version that disagree with those of the note."""
    ours = [f for f in findings.find(note) if f.celsius is not None]
    theirs = [f.celsius for f in findings.find(compact) if f.celsius is not None]
    for other in theirs:
        if ours and min(abs((reading.celsius or 0.0) - other) for reading in ours) > 0.15:
            yield Difference("changed", ours[0].text)


def _durations(note: str, compact: str) -> Iterator[Difference]:
    """Durations in the compact version that the note does not contain; an omitted duration is not a change."""
    ours = _times(note)
    for time, said in _times(compact).items():
        if time not in ours and any(unit == time[1] for _, unit in ours):
            yield Difference("changed", next((w for (_, unit), w in ours.items() if unit == time[1]), said))


def _times(text: str) -> dict[tuple[str, str], str]:
    """Map (number, unit) to the text of each duration or point in time; weeks are converted to days."""
    found: dict[tuple[str, str], str] = {}
    for match in _DURATION.finditer(text):
        number, unit = (match.group(1) or match.group(2)).lower(), _UNITS[match.group(3).lower()]
        found.setdefault(_normal(_NUMBERS.get(number, number), unit), match.group())
    for match in _LAST.finditer(text):
        found.setdefault(_normal("1", _UNITS[match.group(1).lower()]), match.group())
    if re.search(r"\bfortnight\b", text, re.IGNORECASE):
        found.setdefault(("14", "day"), "fortnight")
    return found


_LAST = re.compile(
    r"\b(?:past|last|previous|this|these|about a|around a|for a)[ \t]+(?:past[ \t]+)?(days?|weeks?|months?|years?)\b",
    re.IGNORECASE,
)


def _normal(number: str, unit: str) -> tuple[str, str]:
    """Convert weeks to days and years to months, so that "two weeks" equals "14 d"."""
    count = int(number)
    if unit == "week":
        return str(7 * count), "day"
    return (str(12 * count), "month") if unit == "year" else (number, unit)


def _descriptions(note: str, compact: str) -> Iterator[Difference]:
    """Symptoms whose severity or type is reversed in the compact version."""
    opposites = reading().opposites
    for symptom in symptoms():
        ours, theirs = (_description_of(text, symptom) for text in (note, compact))
        for one, other in (*opposites, *((b, a) for a, b in opposites)):
            if says(ours, one) and not says(ours, other) and says(theirs, other) and not says(theirs, one):
                yield Difference("changed", f"{symptom}: {one}")


def _description_of(text: str, symptom: str) -> str:
    present = [f for f in mentions(text, symptom) if f.polarity == "present" and f.section != "physical_examination"]
    return about(text, symptom, present, strictly=True) if present else ""


def _sides(note: str, compact: str) -> Iterator[Difference]:
    """Sides that are swapped, for one body part or throughout."""
    ours, theirs = _sided(note), _sided(abbreviations.expand(compact))
    other = {"r": "l", "l": "r"}
    swapped = any(
        (other[side], of) in ours and (side, of) not in ours and (other[side], of) not in theirs for side, of in theirs
    )
    sides, their_sides = {side for side, _ in ours}, {side for side, _ in theirs}
    if swapped or (sides and their_sides - sides):
        yield Difference("changed", _SIDE.search(note).group())  # type: ignore[union-attr]


def _sided(text: str) -> set[tuple[str, str]]:
    """Return (r or l, body part) for each side mentioned in ``text``."""
    return {(m.group(1).lower()[0], _stem(m.group(2) or "")) for m in _SIDE.finditer(text)}


def _stem(word: str) -> str:
    return next((form for _, _, forms in words(word) for form in forms), "")


def _conditions(note: str, compact: str) -> Iterator[Difference]:
    """Conditions affirmed in the note and denied in the compact version; an omitted condition is not a change."""
    theirs = {(f.concept, f.polarity) for f in findings.find(compact) if f.category == "condition"}
    for finding in _present_conditions(note):
        if (finding.concept, "absent") in theirs and (finding.concept, "present") not in theirs:
            yield Difference("changed", finding.text)


def _present_conditions(note: str) -> Sequence[findings.Finding]:
    return [
        f for f in findings.find(note) if f.category == "condition" and f.polarity == "present" and f.kind == "direct"
    ]
