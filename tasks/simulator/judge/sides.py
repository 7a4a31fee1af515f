"""Sides of body parts: "left knee" is not supported by a text that has the right knee only."""

from tasks.domains.in_use import domain_cache
from tasks.simulator.judge.content_words import Word
from tasks.simulator.judge.premise import Unit


def wrong_side(words: tuple[Word, ...], bound: dict[str, frozenset[str]]) -> str | None:
    """Return "side" if the text has a body part of the claim on other sides only, None otherwise."""
    for side, part in _bindings(words):
        wanted = {"left", "right"} if side == "both" else {side}
        if part in bound and not wanted <= bound[part]:
            return "side"
    return None


@domain_cache(maxsize=2_000)
def sides_of(places: tuple[Unit, ...]) -> dict[str, frozenset[str]]:
    """Return the sides of each body part in a text: a side word refers to the next body part."""
    found: dict[str, set[str]] = {}
    for unit in places:
        for side, part in _bindings(unit.words):
            found.setdefault(part, set()).update(("left", "right") if side == "both" else (side,))
    return {part: frozenset(sides) for part, sides in found.items()}


def _bindings(words: tuple[Word, ...]) -> list[tuple[str, str]]:
    pairs = []
    for at, word in enumerate(words):
        if word.kind == "side":
            part = next((other.key for other in words[at + 1 : at + 4] if other.kind == "body"), None)
            if part is not None:
                pairs.append((word.key, part))
    return pairs
