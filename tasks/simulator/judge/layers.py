"""Windows of a text: a sentence or two neighbours, with label, heading, paragraph and the rest of the text."""

from collections.abc import Iterable
from dataclasses import dataclass

from tasks.domains.in_use import domain_cache
from tasks.simulator.judge.content_words import Word
from tasks.simulator.judge.lexicon import stem
from tasks.simulator.judge.premise import Polarity, Unit, units

WEIGHTS = {"word": 1.0, "light": 0.3, "number": 1.0, "side": 0.6, "body": 1.0, "drug": 1.5}
CONTEXT, PARAGRAPH, ELSEWHERE = 0.9, 0.7, 0.35


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
        if word.kind == "side" and stem(f"{key}more") in self.own:  # "more on the right"
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


def merge(parts: Iterable[Polarity]) -> Polarity:
    """Merge polarity tables."""
    found: dict[str, frozenset[bool]] = {}
    for part in parts:
        for key, values in part.items():
            found[key] = found.get(key, frozenset()) | values
    return found


@domain_cache(maxsize=500)
def windows(premise: str) -> tuple[tuple[int, Layers], ...]:
    """Return each sentence and each pair of neighbours with context; the number is the index of the first sentence."""
    places = units(premise)
    whole = merge(unit.own for unit in places)
    found = []
    for at in range(len(places)):
        found.append((at, _layers(places[at : at + 1], whole)))
        if at + 1 < len(places):
            found.append((at, _layers(places[at : at + 2], whole)))
    return tuple(found)


def _layers(window: tuple[Unit, ...], whole: Polarity) -> Layers:
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


def coverage(words: tuple[Word, ...], layers: Layers) -> float:
    """Return the weighted share of a claim's words found in a window and its context, in [0, 1]."""
    total = sum(WEIGHTS[word.kind] for word in words)
    return sum(WEIGHTS[word.kind] * layers.look(word)[0] for word in words) / total
