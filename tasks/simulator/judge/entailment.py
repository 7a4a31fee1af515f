"""Entailment of a claim by a text, by aligning the claim's content words with one place of the text.

A claim is entailed if some sentence of the text, read with its neighbour, label and paragraph, covers enough of the
claim's content and contradicts none of it: same numbers with their units, side, drug, body part, named entity, person,
severity, polarity and certainty. The text has to give its causes, quantities, frequencies and courses.
No setting depends on a system, a section or a document.
"""

from dataclasses import dataclass

from tasks.domains.in_use import domain_cache
from tasks.simulator.judge.causes import unsupported_cause
from tasks.simulator.judge.conflicts import find_conflict
from tasks.simulator.judge.content_words import Word, read
from tasks.simulator.judge.entities import replaced_entity
from tasks.simulator.judge.layers import coverage, windows
from tasks.simulator.judge.lists import missing_item
from tasks.simulator.judge.measures import wrong_unit
from tasks.simulator.judge.premise import Unit, units
from tasks.simulator.judge.scales import wrong_class
from tasks.simulator.judge.sides import sides_of

THRESHOLD = 0.57
SLACK = 0.1


@dataclass(frozen=True)
class Alignment:
    """Coverage of a claim by one place of a text, in [0, 1], and the conflict that rules out support, if any."""

    coverage: float
    conflict: str | None
    unit: int


def entails(premise: str, claim: str) -> bool:
    """Whether ``premise`` fully entails ``claim``; false for an empty premise or a claim without content."""
    best = align(premise, claim)
    return best is not None and best.conflict is None and best.coverage >= THRESHOLD


@domain_cache(maxsize=200_000)
def align(premise: str, claim: str) -> Alignment | None:
    """Return the place of ``premise`` that best supports ``claim``; None if either has no content."""
    words, places = tuple(dict.fromkeys(read(claim))), units(premise)
    if not words or not places:
        return None
    covered = [(coverage(words, layers), at, layers) for at, layers in windows(premise)]
    top = max(share for share, _, _ in covered)
    bound, anywhere = sides_of(places), _conflict_with_text(claim, words, places)
    near = [
        Alignment(share, find_conflict(words, layers, bound) or anywhere, at)
        for share, at, layers in covered
        if share >= top - SLACK
    ]
    return max(near, key=lambda alignment: (alignment.conflict is None, alignment.coverage))


def _conflict_with_text(claim: str, words: tuple[Word, ...], places: tuple[Unit, ...]) -> str | None:
    """Return the kind of a conflict that concerns the text as a whole rather than one window, None without one."""
    found = replaced_entity(read(claim), tuple(word for place in places for word in place.words))
    found = found or wrong_unit(read(claim), places) or unsupported_cause(claim, places)
    return found or missing_item(claim, places) or wrong_class(claim, words, places)
