"""Numbers with their units: "3 weeks" is not supported by a text that has 3 months only."""

from itertools import pairwise

from tasks.domains.in_use import domain_cache
from tasks.simulator.judge.content_words import Word
from tasks.simulator.judge.lexicon import lexicon
from tasks.simulator.judge.premise import Unit


def wrong_unit(words: tuple[Word, ...], places: tuple[Unit, ...]) -> str | None:
    """Return "unit" if a number of the claim occurs in the text with other units only, None otherwise."""
    known = _units_of(places)
    wrong = (number in known and measure not in known[number] for number, measure in _measures(words))
    return "unit" if any(wrong) else None


@domain_cache(maxsize=2_000)
def _units_of(places: tuple[Unit, ...]) -> dict[str, frozenset[str]]:
    """Return the units of each number in a text."""
    found: dict[str, set[str]] = {}
    for place in places:
        for number, measure in _measures(place.words):
            found.setdefault(number, set()).add(measure)
    return {number: frozenset(measures) for number, measures in found.items()}


def _measures(words: tuple[Word, ...]) -> list[tuple[str, str]]:
    return [(one.key, two.key) for one, two in pairwise(words) if one.kind == "number" and two.key in lexicon().units]
