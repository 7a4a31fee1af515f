"""Entailment of a claim by a text, by aligning the claim's content words with one place of the text.

A claim is entailed if some sentence of the text, read with its neighbour, label and paragraph, covers enough of the
claim's content and contradicts none of it: same numbers with their units, side, drug, body part,
named entity, person, severity, polarity and certainty.
No setting depends on a system, a section or a document.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from tasks.domains.in_use import domain_cache
from tasks.simulator.judge.content_words import Word, read
from tasks.simulator.judge.entities import replaced_entity
from tasks.simulator.judge.lexicon import lexicon
from tasks.simulator.judge.measures import wrong_unit
from tasks.simulator.judge.premise import Polarity, Unit, units

WEIGHTS = {"word": 1.0, "light": 0.3, "number": 1.0, "side": 0.6, "body": 1.0, "drug": 1.5}
CONTEXT, PARAGRAPH, ELSEWHERE = 0.9, 0.7, 0.35
THRESHOLD = 0.57
SLACK = 0.1
POLAR = ("word", "drug", "light")  # classes that can be negated: the finding, not its place, side or number


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
    words, places = _unique(read(claim)), windows(premise)
    if not words or not places:
        return None
    covered = [(coverage(words, layers), at, layers) for at, layers in places]
    top = max(share for share, _, _ in covered)
    bound = sides_of(units(premise))
    replaced = replaced_entity(read(claim), tuple(word for unit in units(premise) for word in unit.words))
    replaced = replaced or wrong_unit(read(claim), units(premise))
    near = [
        Alignment(share, _find_conflict(words, layers, bound) or replaced, at)
        for share, at, layers in covered
        if share >= top - SLACK
    ]
    return max(near, key=lambda alignment: (alignment.conflict is None, alignment.coverage))


def _unique(words: tuple[Word, ...]) -> tuple[Word, ...]:
    return tuple(dict.fromkeys(words))


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


def merge(parts: Iterable[Polarity]) -> Polarity:
    """Merge polarity tables."""
    found: dict[str, frozenset[bool]] = {}
    for part in parts:
        for key, values in part.items():
            found[key] = found.get(key, frozenset()) | values
    return found


@domain_cache(maxsize=500)
def windows(premise: str) -> tuple[tuple[int, "Layers"], ...]:
    """Return each sentence and each pair of neighbours with context; the number is the index of the first sentence."""
    places = units(premise)
    whole = merge(unit.own for unit in places)
    found = []
    for at in range(len(places)):
        found.append((at, _layers(places[at : at + 1], whole)))
        if at + 1 < len(places):
            found.append((at, _layers(places[at : at + 2], whole)))
    return tuple(found)


def _layers(window: tuple[Unit, ...], whole: Polarity) -> "Layers":
    return Layers(
        merge(unit.own for unit in window),
        merge(unit.heading for unit in window),
        frozenset().union(*(unit.label for unit in window)),
        merge(unit.paragraph for unit in window),
        whole,
        _suppositions(word for unit in window for word in unit.words),
    )


def _suppositions(words: Iterable[Word]) -> frozenset[str]:
    """Words that are stated as possible only, wherever they occur."""
    keys: dict[bool, set[str]] = {True: set(), False: set()}
    for word in words:
        keys[word.possible].add(word.key)
    return frozenset(keys[True] - keys[False])


def coverage(words: tuple[Word, ...], layers: "Layers") -> float:
    """Return the weighted share of a claim's words found in a window and its context, in [0, 1]."""
    total = sum(WEIGHTS[word.kind] for word in words)
    return sum(WEIGHTS[word.kind] * layers.look(word)[0] for word in words) / total


def _find_conflict(words: tuple[Word, ...], layers: "Layers", bound: dict[str, frozenset[str]]) -> str | None:
    for word in words:
        found = _conflict(word, layers.own, layers.look(word)[0])
        if found:
            return found
    found = _wrong_polarity(words, layers) or _wrong_side(words, bound) or _wrong_certainty(words, layers)
    return found or _missing_qualifier(words, layers)


@dataclass(frozen=True)
class Layers:
    """A window of a text and its context, from the inside out."""

    own: Polarity
    heading: Polarity
    label: frozenset[str]
    paragraph: Polarity
    whole: Polarity
    possible: frozenset[str]

    def look(self, word: Word) -> tuple[float, str]:
        """Return the credit for a word of the claim and the nearest layer that contains it ("none" if absent)."""
        key = word.key
        if key in self.own:
            return 1.0, "own"
        if word.kind == "side" and ("both" in self.own or (key == "both" and {"left", "right"} <= self.own.keys())):
            return 1.0, "own"
        if key in self.label:
            return CONTEXT, "label"
        if key in self.heading:
            return CONTEXT, "heading"
        if key in self.paragraph:
            return PARAGRAPH, "paragraph"
        return (ELSEWHERE, "whole") if key in self.whole else (0.0, "none")


def _wrong_polarity(words: tuple[Word, ...], layers: Layers) -> str | None:
    """Whether a word of the claim occurs in the text with the opposite polarity only.

    Light words ("continue") are checked in the window only. A heading ("GERD") is checked only if it makes up most
    of the claim: "no flare of his GERD" does not deny it.
    """
    polar = _polar_kinds(words)
    placed = [(word, layers.look(word)[1]) for word in words]
    total = sum(WEIGHTS[word.kind] for word in words)
    headed = sum(WEIGHTS[word.kind] for word, layer in placed if layer == "heading")
    for word, layer in placed:
        if word.kind not in polar or (word.kind == "light" and layer != "own"):
            continue
        if layer == "heading" and headed < total / 2:
            continue
        stands = _stands(layers, layer).get(word.key)
        if stands and word.negated not in stands:
            return "polarity"
    return None


def _stands(layers: Layers, layer: str) -> Polarity:
    tables = {"own": layers.own, "heading": layers.heading, "paragraph": layers.paragraph, "whole": layers.whole}
    return tables.get(layer, {})


def _polar_kinds(words: tuple[Word, ...]) -> tuple[str, ...]:
    negated = [word.kind for word in words if word.negated]
    if negated and not any(kind in POLAR for kind in negated):
        return tuple(WEIGHTS)  # "is not 120/50": the number itself is denied
    return POLAR


def _wrong_side(words: tuple[Word, ...], bound: dict[str, frozenset[str]]) -> str | None:
    for side, part in _bindings(words):
        wanted = {"left", "right"} if side == "both" else {side}
        if part in bound and not wanted <= bound[part]:
            return "side"
    return None


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
    if word.kind == "number" and credit < 1:
        return "number"
    if word.kind == "side" and credit < 1 and (credit == 0 or own.keys() & {"left", "right", "both"}):
        return "side"
    if word.kind in ("drug", "body") and credit < PARAGRAPH:
        return word.kind
    if word.key not in own and lexicon().opposites.get(word.key, frozenset()) & own.keys():
        return "opposite"
    return None
