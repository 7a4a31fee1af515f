"""Conflicts of a claim with a text, or with one window of it.

Numbers with their units ("3 weeks" is not supported by "3 months"), sides of body parts, drugs, persons, severity,
polarity and certainty; causes, which need a place that connects the two; and ordered words, of which a claim has to
have the class of the text: "most of the joints" is not supported by "some of the joints", nor constant pain by pain
that comes and goes. A course that the text does not give for any of the claim's findings is unsupported.
"""

import re
from itertools import pairwise

from tasks.domains.in_use import domain_cache
from tasks.simulator.judge.lexicon import lexicon
from tasks.simulator.judge.premise import PARAGRAPH, WEIGHTS, Layers, Polarity, Unit
from tasks.simulator.judge.scopes import Word, plain, read
from tasks.simulator.resources import vocabulary

_WORDS = vocabulary("judge")
_CONNECTIVE = re.compile(rf"\b{_WORDS['connective']}\b")
_CUE = re.compile(rf"\b{_WORDS['connective']}\b|\b{_WORDS['cue']}\b")
_NEUTRAL = ("light", "number", "side")


def unsupported_cause(claim: str, places: tuple[Unit, ...]) -> str | None:
    """Return "cause" if the claim names a cause that no place of the text connects with the effect, else None."""
    text = plain(claim)
    connective = _CONNECTIVE.search(text)
    if connective is None:
        return None
    sides = _content(read(text[: connective.start()])), _content(read(text[connective.end() :]))
    joined = (_connects(places[at : at + 2], sides) for at in range(len(places)))
    return None if any(joined) else "cause"


def _connects(places: tuple[Unit, ...], sides: tuple[frozenset[str], frozenset[str]]) -> bool:
    if not any(_CUE.search(plain(place.text)) for place in places):
        return False
    here = frozenset().union(*(place.own.keys() | place.label | place.heading.keys() for place in places))
    return all(not side or side & here for side in sides)


def _content(words: tuple[Word, ...]) -> frozenset[str]:
    return frozenset(word.key for word in words if word.kind not in _NEUTRAL)


def wrong_class(claim: str, words: tuple[Word, ...], places: tuple[Unit, ...]) -> str | None:
    """Return the scale on which the claim differs from the text about its findings, None if there is none."""
    text = plain(claim)
    keys = frozenset(word.key for word in words if word.kind not in _NEUTRAL)
    for name, scale in lexicon().scales.items():
        claimed = _classes(scale.claimed, text)
        given = _given(places, keys, name) if claimed else frozenset()
        if claimed and not claimed & given and (given or claimed & scale.required):
            return name
    return None


def _given(places: tuple[Unit, ...], keys: frozenset[str], name: str) -> frozenset[int]:
    """Classes of a scale in the sentences that share the most of the findings, and in the sentences after them."""
    shared = [len(keys & (place.own.keys() | place.label)) for place in places]
    most = max(shared, default=0)
    near = [at for at, count in enumerate(shared) if count and count >= most - 1]
    found = {at for start in near for at in (start, start + 1) if at < len(places)} if keys else set(range(len(places)))
    return frozenset().union(*(_classes_of(places[at].text)[name] for at in found))


@domain_cache(maxsize=20_000)
def _classes_of(text: str) -> dict[str, frozenset[int]]:
    return {name: _classes(scale.given, plain(text)) for name, scale in lexicon().scales.items()}


def _classes(patterns: tuple[re.Pattern[str], ...], text: str) -> frozenset[int]:
    return frozenset(number for number, pattern in enumerate(patterns) if pattern.search(text))


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


def _wrong_side(words: tuple[Word, ...], bound: dict[str, frozenset[str]]) -> str | None:
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


POLAR = ("word", "drug", "light")  # classes that can be negated: the finding, not its place, side or number


def find_conflict(words: tuple[Word, ...], layers: Layers, bound: dict[str, frozenset[str]]) -> str | None:
    """Return the kind of the first conflict of a claim with a window, None without one."""
    found = next(filter(None, (_conflict(word, layers.own, layers.look(word)[0]) for word in words)), None)
    found = found or _wrong_polarity(words, layers) or _wrong_side(words, bound)
    return found or _wrong_certainty(words, layers) or _missing_qualifier(words, layers)


def _wrong_polarity(words: tuple[Word, ...], layers: Layers) -> str | None:
    """Whether a word of the claim occurs in the text with the opposite polarity only.

    Light words ("continue") are checked in the window only. A heading ("GERD") is checked only if it makes up most
    of the claim: "no flare of his GERD" does not deny it.
    """
    polar = _polar_kinds(words)
    placed = [(word, layers.look(word)[1]) for word in words]
    total = sum(WEIGHTS[word.kind] for word in words)
    denied = any(_denied(word, layers.own) for word in words)
    headed = sum(WEIGHTS[word.kind] for word, layer in placed if layer == "heading")
    for word, layer in placed:
        if word.kind not in polar or (word.kind == "light" and layer != "own"):
            continue
        if (word.context and denied) or (layer == "heading" and headed < total / 2):
            continue
        polarities = layers.table(layer).get(word.key)
        if polarities and word.negated not in polarities:
            return "polarity"
    return None


def _denied(word: Word, own: Polarity) -> bool:
    return word.negated and not word.context and own.get(word.key) == frozenset({True})


def _polar_kinds(words: tuple[Word, ...]) -> tuple[str, ...]:
    negated = [word.kind for word in words if word.negated]
    if negated and not any(kind in POLAR for kind in negated):
        return tuple(WEIGHTS)  # "is not 120/50": the number itself is denied
    return POLAR


def _wrong_certainty(words: tuple[Word, ...], layers: Layers) -> str | None:
    """Whether a claim that supposes nothing has a finding or drug that the text states as possible only."""
    if any(word.possible for word in words):
        return None
    return "certainty" if any(word.kind in ("word", "drug") and word.key in layers.possible for word in words) else None


def _missing_qualifier(words: tuple[Word, ...], layers: Layers) -> str | None:
    """Whether the place does not have the claim's person ("her mother"), or a finding without the claim's severity."""
    for word, following in zip(words, (*words[1:], None), strict=True):
        credit = layers.look(word)[0]
        if word.key in lexicon().persons and credit < PARAGRAPH:
            return "person"
        severity = word.key in lexicon().degrees and not word.negated and credit < 1
        if severity and following is not None and following.key in layers.own:
            return "degree"
    return None


def _conflict(word: Word, own: Polarity, credit: float) -> str | None:
    other_side = credit == 0 or own.keys() & {"left", "right", "both"}
    if credit < 1 and (word.kind == "number" or (word.kind == "side" and other_side)):
        return word.kind
    if word.kind in ("drug", "body") and word.key not in lexicon().tissues and credit < PARAGRAPH:
        return word.kind
    if word.key not in own and lexicon().opposites.get(word.key, frozenset()) & own.keys():
        return "opposite"
    return None
