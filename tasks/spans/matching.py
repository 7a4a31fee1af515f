"""Where in a note a phrase stands (SimSUM, Section 2.3): regardless of case, punctuation and white space.

A phrase is looked for in ever looser ways, and the first that finds it counts: as it is; by its tokens; by its words
when it dropped symbols of the note; by its letters when words were joined or split. ``...`` in a phrase stands for any
words; such a phrase is the stretch from its first to its last word.

Better no match than a wrong one: a phrase that could stand in two places, of which nothing tells which is meant, is
left to the correction question. A match never begins or ends inside a word or a number.
"""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from tasks.spans.edges import fit_edges
from tasks.spans.search import NoteIndex, Place

ELISION = re.compile(r"(?:(?<!\s)\s++)?(?:[\[(]\s*+)?(?:\.{3,}|…+|\.(?:\s++\.){2,})\s*+(?:[\])]\s*+)?")
"""How words left out are marked. Without backtracking: a model may reply with any number of blanks."""
_NEVER_FIRST = ",.;:!? \t\n"


@dataclass(frozen=True)
class Match:
    """``note[start:end]`` is what a phrase stands for; ``kind`` tells how it was found: exact, normalised or elided."""

    start: int
    end: int
    kind: str


def match_phrases(note: str, phrases: Sequence[tuple[str, str]], *, sure: bool = False) -> list[Match | None]:
    """Find each (symptom, phrase) in ``note``; None where there is no safe match. Same order as ``phrases``.

    The same phrase listed several times for a symptom is resolved in order: the first stands for the first occurrence,
    and so on; a phrase listed more often than it occurs gets the last occurrence again. A phrase that occurs in several
    spellings (``Afebrile``, ``afebrile``) and is not listed for each is safe only if ``sure``, that is when the
    asker has been told to spell it as the note does; then its own spelling decides.
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


def match_phrase(note: str, phrase: str, *, sure: bool = False) -> Match | None:
    """Find one phrase in ``note``; see `match_phrases`."""
    return match_phrases(note, [("", phrase)], sure=sure)[0]


def _resolve(index: NoteIndex, listed: Sequence[str], sure: bool) -> list[Match | None]:
    """Matches of phrases that are the same but for case and punctuation, in their order."""
    if len(_parts(listed[0])) > 1 and not index.literal(listed[0]):
        return [_elided(index, phrase) for phrase in listed]
    places = index.places(listed[0])
    if len(places) > len(listed) and not _one_spelling(index, places):
        if not sure:
            return [None] * len(listed)
        places = index.literal(listed[0])
    places = _apart(places)
    if not places:
        return [None] * len(listed)
    taken = [places[min(i, len(places) - 1)] for i in range(len(listed))]
    return [_match(index.note, phrase, place) for phrase, place in zip(listed, taken, strict=True)]


def _parts(phrase: str) -> list[str]:
    return [part for part in ELISION.split(phrase) if part]


def _one_spelling(index: NoteIndex, places: Sequence[Place]) -> bool:
    return len({index.note[start:end] for start, end in places}) == 1


def _apart(places: Sequence[Place]) -> list[Place]:
    """Places that do not overlap, earlier ones first."""
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
    start, end = fit_edges(note, place, ELISION.sub(" ", phrase))
    return Match(start, end, "normalised")


def _elided(index: NoteIndex, phrase: str) -> Match | None:
    """The one stretch of ``note`` that holds the parts of ``phrase`` in order, if there is just one."""
    place = index.stretch(_parts(phrase))
    if place is None:
        return None
    start, end = fit_edges(index.note, place, ELISION.sub(" ", phrase))
    return Match(start, end, "elided")
