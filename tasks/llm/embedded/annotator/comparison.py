"""What a compact note loses or changes: symptoms, how they are described, measurements, sides, conditions."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from tasks.llm.embedded.annotator.consistency import about, mentions
from tasks.llm.embedded.clinical import abbreviations, findings
from tasks.llm.embedded.clinical.descriptors import known
from tasks.llm.embedded.clinical.lexicon import SYMPTOMS

_WORDS = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen"
_NUMBERS = {word: str(value) for value, word in enumerate(_WORDS.split())} | {
    "a": "1",
    "an": "1",
    "couple": "2",
    "single": "1",
    "once": "1",
    "twice": "2",
    "fortnight": "2",
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
    rf"(?<![\d./-])(\d{{1,3}}|{_any_of(_NUMBERS)})(?:[ \t]+full)?(?:[ \t]*-[ \t]*\d{{1,2}})?[ \t-]*"
    rf"({_any_of(_UNITS)})\b(?![/.]\d)",
    re.IGNORECASE,
)
_SIDE = re.compile(r"\b(right|left|rt|lt)\b(?!-hand)", re.IGNORECASE)
_COMPARED = (
    *("dry", "productive", "phlegm", "sputum", "severe", "mild", "at night", "during exercise", "worse in morning"),
    *("worse when lying down", "day and night", "constant", "difficulty breathing in", "nighttime stuffiness"),
    *("tension behind sternum", "burning pain in trachea", "scraping pain in trachea"),
    *("localized on right side", "localized on left side"),
)
"""Descriptors whose loss counts: those that are worded in few ways, so that another wording is not taken for a loss."""


@dataclass(frozen=True)
class Difference:
    """A detail of the note that the compact version lost or changed, in the note's words."""

    kind: str  # lost or changed
    detail: str


@lru_cache(maxsize=256)
def differences(note: str, compact: str) -> tuple[Difference, ...]:
    """What ``compact`` loses or changes of ``note``; empty when it keeps every detail that counts."""
    found = [*_symptoms(note, compact), *_temperatures(note, compact), *_durations(note, compact)]
    found += [*_descriptions(note, compact), *_sides(note, compact), *_conditions(note, compact)]
    return tuple(found)


def _symptoms(note: str, compact: str) -> Iterator[Difference]:
    for symptom in SYMPTOMS:
        ours = [f for f in mentions(note, symptom) if f.kind in ("direct", "lay", "implicit")]
        theirs = mentions(compact, symptom)
        if not ours:
            continue
        told, kept = {f.polarity for f in ours}, {f.polarity for f in theirs}
        if not theirs:
            yield Difference("lost", ours[0].text)
        elif not told & kept:
            yield Difference("changed", ours[0].text)


def _temperatures(note: str, compact: str) -> Iterator[Difference]:
    ours = [f for f in findings.of(note, "fever") if f.celsius is not None]
    theirs = [f.celsius for f in findings.of(compact, "fever") if f.celsius is not None]
    for reading in ours:
        if theirs and min(abs((reading.celsius or 0.0) - other) for other in theirs) > 0.15:
            yield Difference("changed", reading.text)
        elif not theirs and reading.polarity == "present":
            yield Difference("lost", reading.text)


def _durations(note: str, compact: str) -> Iterator[Difference]:
    ours, theirs = _times(note), _times(compact)
    for time, words in ours.items():
        if time not in theirs:
            unit_kept = any(unit == time[1] or unit for _, unit in theirs.keys() - ours.keys())
            yield Difference("changed" if unit_kept else "lost", words)


def _times(text: str) -> dict[tuple[str, str], str]:
    """(number, unit) -> words of each duration or point in time of ``text``; a week counts as seven days."""
    found: dict[tuple[str, str], str] = {}
    for match in _DURATION.finditer(text):
        number, unit = match.group(1).lower(), _UNITS[match.group(2).lower()]
        number = _NUMBERS.get(number, number)
        if unit == "week" and number == "1":
            number, unit = "7", "day"
        found.setdefault((number, unit), match.group())
    return found


def _descriptions(note: str, compact: str) -> Iterator[Difference]:
    """Descriptors that the note says of a symptom and the compact version of none."""
    written = abbreviations.expand(compact) + "\n" + compact
    for symptom in SYMPTOMS:
        present = [f for f in mentions(note, symptom) if f.polarity == "present"]
        if not present:
            continue
        ours = about(note, symptom, present)
        for descriptor in _COMPARED if symptom != "fever" else ():
            pattern = known()[descriptor]
            said = pattern.search(ours)
            if said and not pattern.search(written):
                yield Difference("lost", said.group())
                return


def _sides(note: str, compact: str) -> Iterator[Difference]:
    ours = {m.group(1).lower()[0] for m in _SIDE.finditer(note)}
    theirs = {m.group(1).lower()[0] for m in _SIDE.finditer(abbreviations.expand(compact))}
    if ours and theirs and not ours & theirs:
        yield Difference("changed", _SIDE.search(note).group())  # type: ignore[union-attr]


def _conditions(note: str, compact: str) -> Iterator[Difference]:
    theirs = {(f.concept, f.polarity) for f in findings.find(compact) if f.category == "condition"}
    seen: set[str] = set()
    for finding in _present_conditions(note):
        if finding.concept in seen:
            continue
        seen.add(finding.concept)
        if finding.concept not in {concept for concept, _ in theirs}:
            yield Difference("lost", finding.text)
        elif (finding.concept, "present") not in theirs:
            yield Difference("changed", finding.text)


def _present_conditions(note: str) -> Sequence[findings.Finding]:
    return [
        f for f in findings.find(note) if f.category == "condition" and f.polarity == "present" and f.kind == "direct"
    ]
