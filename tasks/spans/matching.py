"""Matches phrases to offsets in a note, ignoring case, punctuation and white space (SimSUM, Section 2.3).

Comparisons are tried from strict to loose, and the first that finds the phrase counts: verbatim, by tokens, by words
(if the phrase lacks symbols of the note), by letters (if words were joined or split). ``...`` in a phrase matches any
words; the match extends from the first to the last word of the phrase.

No match is preferred to a wrong one: an ambiguous phrase is left to a correction request. A match never begins or ends
inside a word or a number.
"""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from tasks.spans.search import NoteIndex, Place, tokenize

ELISION = re.compile(r"(?:(?<!\s)\s++)?(?:[\[(]\s*+)?(?:\.{3,}|…+|\.(?:\s++\.){2,})\s*+(?:[\])]\s*+)?")
"""Marks of omitted words. Without backtracking, since replies may contain any number of blanks."""
_QUOTES = {"“": '"', "”": '"', "„": '"', "«": '"', "»": '"', "‘": "'", "’": "'", "`": "'", "´": "'"}
_ENDS = {".": ".", "!": ".", "?": ".", ",": ",", ";": ",", ":": ","}
_BRACKETS = {"(": ")", "[": "]", "{": "}"}
_REACH = 40  # maximum number of characters added at either end
_AFTER_NUMBERS = "°%+"
_NEVER_FIRST = ",.;:!? \t\n"


@dataclass(frozen=True)
class Match:
    """``note[start:end]`` matches a phrase; ``kind`` is exact, normalised or elided."""

    start: int
    end: int
    kind: str


def match_phrases(note: str, phrases: Sequence[tuple[str, str]], *, sure: bool = False) -> list[Match | None]:
    """Find each (symptom, phrase) in ``note``; None if not found or ambiguous. Same order as ``phrases``.

    If a symptom has the same phrase several times, the first matches the first occurrence, and so on; surplus phrases
    match the last occurrence. A phrase that occurs more often than listed, in several spellings (``Afebrile``,
    ``afebrile``), is ambiguous unless ``sure``: then the model was asked to spell it as the note does, and the
    occurrences in that spelling count.
    """
    index = NoteIndex(note)
    groups: dict[tuple[str, tuple[tuple[str, ...], ...]], list[int]] = defaultdict(list)
    for row, (symptom, phrase) in enumerate(phrases):
        groups[symptom, tuple(index.key(part) for part in _parts(phrase))].append(row)
    matches: list[Match | None] = [None] * len(phrases)
    for rows in groups.values():
        found = _resolve(index, [phrases[row][1] for row in rows], sure)
        for row, match in zip(rows, found, strict=True):
            matches[row] = match
    return matches


def _resolve(index: NoteIndex, listed: Sequence[str], sure: bool) -> list[Match | None]:
    """Match phrases that differ only in case, punctuation and white space, in order."""
    if len(_parts(listed[0])) > 1 and not index.literal(listed[0]):
        return [_elided(index, phrase) for phrase in listed]
    places = index.places(listed[0])
    if len(places) > len(listed) and not _one_spelling(index, places):
        if not sure:
            return [None] * len(listed)
        places = index.literal(listed[0])
    places = _without_overlaps(places)
    if not places:
        return [None] * len(listed)
    taken = [places[min(i, len(places) - 1)] for i in range(len(listed))]
    return [_match(index.note, phrase, place) for phrase, place in zip(listed, taken, strict=True)]


def _parts(phrase: str) -> list[str]:
    return [part for part in ELISION.split(phrase) if part]


def _one_spelling(index: NoteIndex, places: Sequence[Place]) -> bool:
    return len({index.note[start:end] for start, end in places}) == 1


def _without_overlaps(places: Sequence[Place]) -> list[Place]:
    """Drop each place that overlaps an earlier one."""
    kept: list[Place] = []
    for place in places:
        if not kept or place[0] >= kept[-1][1]:
            kept.append(place)
    return kept


def _match(note: str, phrase: str, place: Place) -> Match:
    bare = phrase.strip().lstrip(_NEVER_FIRST)
    found = note.find(bare, max(place[0] - len(bare), 0), place[1] + len(bare))
    if found != -1 and found <= place[0] and place[1] <= found + len(bare):
        return Match(found, found + len(bare), "exact")
    start, end = _fit_edges(note, place, ELISION.sub(" ", phrase))
    return Match(start, end, "normalised")


def _elided(index: NoteIndex, phrase: str) -> Match | None:
    """Match a phrase with ``...``: the stretch of the note with its parts in order, if there is exactly one."""
    place = index.stretch(_parts(phrase))
    if place is None:
        return None
    start, end = _fit_edges(index.note, place, ELISION.sub(" ", phrase))
    return Match(start, end, "elided")


def _fit_edges(note: str, place: Place, phrase: str) -> Place:
    """Extend ``place`` by punctuation that the phrase has at its ends as well, and by the other half of a bracket."""
    tokens = tokenize(phrase)
    if not tokens:
        return place
    before, after = phrase[: tokens[0].start].lstrip(), phrase[tokens[-1].end :].rstrip()
    start = place[0] - _shared(before[::-1], note[max(0, place[0] - _REACH) : place[0]][::-1])
    end = place[1] + _shared(after, note[place[1] : place[1] + _REACH])
    return _close_brackets(note, start, end)


def _shared(marks: str, adjacent: str) -> int:
    """Number of characters of ``adjacent`` that match ``marks``, read outwards; white space may differ in width."""
    reached = at = 0
    for mark in marks:
        if mark.isspace():
            while at < len(adjacent) and adjacent[at].isspace():
                at += 1
        elif at < len(adjacent) and _class(adjacent[at]) == _class(mark):
            at += 1
            reached = at
        else:
            break
    return reached


def _class(mark: str) -> str:
    if unicodedata.category(mark) == "Pd" or mark == "−":
        return "-"
    return _ENDS.get(mark) or _QUOTES.get(mark, mark)


def _close_brackets(note: str, start: int, end: int) -> Place:
    for opening, closing in _BRACKETS.items():
        depth = lowest = 0
        for mark in note[start:end]:
            depth += (mark == opening) - (mark == closing)
            lowest = min(lowest, depth)
        after = end
        while after < len(note) and note[after] in _AFTER_NUMBERS:
            after += 1
        if depth - lowest == 1 and lowest == 0 and note[after : after + 1] == closing:
            end = after + 1
        elif lowest == -1 and depth == -1 and start > 0 and note[start - 1] == opening:
            start -= 1
    return start, end
