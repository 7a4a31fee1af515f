"""Whether a text entails a claim, by aligning the claim's content words with one place of the text.

A claim is entailed when some sentence of the text, read with its neighbour, label and paragraph, covers enough of the
claim's content and contradicts none of it: the same numbers, the same side, the same drug and body part, the same
polarity. No setting depends on a system, a section or a document.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from tasks.llm.embedded.judge.lexicon import lexicon
from tasks.llm.embedded.judge.premise import Polarity, Unit, units
from tasks.llm.embedded.judge.words import Word, read

WEIGHTS = {"word": 1.0, "light": 0.3, "number": 1.0, "side": 0.6, "body": 1.0, "drug": 1.5}
CONTEXT, PARAGRAPH, ELSEWHERE = 0.9, 0.7, 0.35
THRESHOLD = 0.57
SLACK = 0.1
POLAR = ("word", "drug", "light")  # a negation speaks of the finding, not of its place, side or number


@dataclass(frozen=True)
class Alignment:
    """How well one place of a text covers a claim: ``coverage`` in [0, 1], and why it cannot support it, if so."""

    coverage: float
    conflict: str | None
    unit: int


def entails(premise: str, claim: str) -> bool:
    """Whether ``premise`` fully entails ``claim``; an empty premise entails nothing, a claim of no content nothing."""
    best = align(premise, claim)
    return best is not None and best.conflict is None and best.coverage >= THRESHOLD


@lru_cache(maxsize=200_000)
def align(premise: str, claim: str) -> Alignment | None:
    """The place of ``premise`` that supports ``claim`` best; None when either has no content."""
    words, places = _unique(read(claim)), units(premise)
    if not words or not places:
        return None
    whole = merge(unit.own for unit in places)
    bound = sides_of(places)
    found = [
        _align_window(words, places[at : at + width], whole, bound, at)
        for at in range(len(places))
        for width in (1, 2)
        if at + width <= len(places)
    ]
    top = max(alignment.coverage for alignment in found)
    near = [alignment for alignment in found if alignment.coverage >= top - SLACK]
    return max(near, key=lambda alignment: (alignment.conflict is None, alignment.coverage))


def _unique(words: tuple[Word, ...]) -> tuple[Word, ...]:
    return tuple(dict.fromkeys(words))


@lru_cache(maxsize=2_000)
def sides_of(places: tuple[Unit, ...]) -> dict[str, frozenset[str]]:
    """The sides that each body part of a text is said to be on: a side word binds the body part after it."""
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
    """One polarity table of several."""
    found: dict[str, frozenset[bool]] = {}
    for part in parts:
        for key, values in part.items():
            found[key] = found.get(key, frozenset()) | values
    return found


def _align_window(
    words: tuple[Word, ...], window: tuple[Unit, ...], whole: Polarity, bound: dict[str, frozenset[str]], at: int
) -> Alignment:
    layers = Layers(
        merge(unit.own for unit in window),
        merge(unit.heading for unit in window),
        frozenset().union(*(unit.label for unit in window)),
        merge(unit.paragraph for unit in window),
        whole,
    )
    total = covered = 0.0
    conflict = None
    polar = _polar_kinds(words)
    for word in words:
        weight = WEIGHTS[word.kind]
        credit, stands = layers.look(word)
        total += weight
        covered += weight * credit
        conflict = conflict or _conflict(word, layers.own, credit)
        if word.kind in polar and stands and word.negated not in stands:
            conflict = conflict or "polarity"
    conflict = conflict or _wrong_side(words, bound)
    return Alignment(covered / total, conflict, at)


@dataclass(frozen=True)
class Layers:
    """What surrounds a window of a text, from the window itself outwards."""

    own: Polarity
    heading: Polarity
    label: frozenset[str]
    paragraph: Polarity
    whole: Polarity

    def look(self, word: Word) -> tuple[float, frozenset[bool]]:
        """The credit for a claim's word, and how it stands in the nearest layer that holds it."""
        key = word.key
        if key in self.own:
            return 1.0, self.own[key]
        if word.kind == "side" and ("both" in self.own or (key == "both" and {"left", "right"} <= self.own.keys())):
            return 1.0, frozenset()
        if key in self.label:
            return CONTEXT, frozenset()
        if key in self.heading:
            return CONTEXT, self.heading[key]
        if key in self.paragraph:
            return PARAGRAPH, self.paragraph[key]
        if key in self.whole:
            return ELSEWHERE, self.whole[key]
        return 0.0, frozenset()


def _polar_kinds(words: tuple[Word, ...]) -> tuple[str, ...]:
    negated = [word.kind for word in words if word.negated]
    if negated and not any(kind in POLAR for kind in negated):
        return tuple(WEIGHTS)  # "is not 120/50": the number itself is what is denied
    return POLAR


def _wrong_side(words: tuple[Word, ...], bound: dict[str, frozenset[str]]) -> str | None:
    for side, part in _bindings(words):
        wanted = {"left", "right"} if side == "both" else {side}
        if part in bound and not wanted <= bound[part]:
            return "side"
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
