"""Differences between a note and its compact version: symptoms, descriptions, measurements, sides, conditions."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from tasks.domains.in_use import domain_cache
from tasks.simulator.annotator.mentions import about, mentions
from tasks.simulator.clinical import findings
from tasks.simulator.clinical.lexicon import reading, symptoms
from tasks.simulator.clinical.similarity import says, words
from tasks.simulator.clinical.words import expand
from tasks.simulator.request import ChatRequest
from tasks.simulator.resources import load

_WORDS = load("clinical", "words")
_NUMBERS = {word: str(number) for word, number in _WORDS["numbers"].items()}
_UNITS = {form: unit for unit, forms in _WORDS["units"].items() for form in forms.split()}
_SHORTER = {"week": (7, "day"), "year": (12, "month")}
_NUMBER_WORD, _UNIT = ("|".join(sorted(forms, key=len, reverse=True)) for forms in (_NUMBERS, _UNITS))
_DURATION = re.compile(
    r"(?<![A-Za-z\d./-])(?:(?P<figure>\d{1,3})(?:[ \t]*[-–][ \t]*\d{1,2})?[ \t-]*|"
    rf"\b(?P<word>{_NUMBER_WORD})[ \t-]+(?:full[ \t]+)?)"
    rf"(?P<unit>{_UNIT})\b(?!/)(?!\.\d)",
    re.IGNORECASE,
)
_LAST = re.compile(
    r"\b(?:past|last|previous|this|these|about a|around a|for a)[ \t]+(?:past[ \t]+)?"
    r"(?P<unit>days?|weeks?|months?|years?)\b",
    re.IGNORECASE,
)
_FORTNIGHT = re.compile(r"\bfortnight\b", re.IGNORECASE)
_SIDE = re.compile(
    r"\b(right|left|rt|lt)\b(?!-hand)(?:[- ](?:sided|side of the|side|of the))?(?:[ \t]+([A-Za-z]+))?", re.IGNORECASE
)


@dataclass(frozen=True)
class Difference:
    """A detail of the note that is lost or changed in the compact version, in the note's words."""

    kind: str  # "lost" or "changed"
    detail: str


def compare_compact(request: ChatRequest) -> str:
    """Reply to ``compare a compact note with the note``."""
    found = differences(request.tag("note"), request.tag("compact"))
    listed = [{"kind": difference.kind, "detail": difference.detail} for difference in found]
    return json.dumps({"same": not found, "differences": listed}, ensure_ascii=False)


@domain_cache(maxsize=256)
def differences(note: str, compact: str) -> tuple[Difference, ...]:
    """Return the details of ``note`` that ``compact`` loses or changes; empty when it keeps them all."""
    found = [*_symptoms(note, compact), *_temperatures(note, compact), *_durations(note, compact)]
    found += [*_descriptions(note, compact), *_sides(note, compact), *_conditions(note, compact)]
    return tuple(found)


def _symptoms(note: str, compact: str) -> Iterator[Difference]:
    for symptom in symptoms():
        ours = [f for f in mentions(note, symptom) if f.kind not in ("measured", "weak", "feature")]
        kept = {f.polarity for f in mentions(compact, symptom)}
        if ours and not kept & {f.polarity for f in ours}:
            yield Difference("changed" if kept else "lost", ours[0].text)


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
    for time in _times(compact):
        same_unit = [said for (_, unit), said in ours.items() if unit == time[1]]
        if time not in ours and same_unit:
            yield Difference("changed", same_unit[0])


def _times(text: str) -> dict[tuple[str, str], str]:
    """Map (number, unit) to the text of each duration or point in time; weeks are converted to days."""
    found: dict[tuple[str, str], str] = {}
    for match in _DURATION.finditer(text):
        number = match["figure"] or _NUMBERS[match["word"].lower()]
        found.setdefault(_normal(number, match["unit"]), match.group())
    for match in _LAST.finditer(text):
        found.setdefault(_normal("1", match["unit"]), match.group())
    if _FORTNIGHT.search(text):
        found.setdefault(("14", "day"), "fortnight")
    return found


def _normal(number: str, spelled: str) -> tuple[str, str]:
    """Convert weeks to days and years to months, so that "two weeks" equals "14 d"."""
    unit = _UNITS[spelled.lower()]
    if unit not in _SHORTER:
        return number, unit
    count, shorter = _SHORTER[unit]
    return str(count * int(number)), shorter


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
    ours, theirs = _sided(note), _sided(expand(compact))
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
    for finding in findings.find(note):
        stated = finding.category == "condition" and finding.polarity == "present" and finding.kind == "direct"
        if stated and (finding.concept, "absent") in theirs and (finding.concept, "present") not in theirs:
            yield Difference("changed", finding.text)
