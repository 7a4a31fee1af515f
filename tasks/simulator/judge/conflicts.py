"""Conflicts of a claim with a window of a text: numbers, sides, body parts, drugs, persons, polarity and certainty."""

from tasks.simulator.judge.content_words import Word
from tasks.simulator.judge.layers import PARAGRAPH, WEIGHTS, Layers
from tasks.simulator.judge.lexicon import lexicon
from tasks.simulator.judge.premise import Polarity
from tasks.simulator.judge.sides import wrong_side

POLAR = ("word", "drug", "light")  # classes that can be negated: the finding, not its place, side or number


def find_conflict(words: tuple[Word, ...], layers: Layers, bound: dict[str, frozenset[str]]) -> str | None:
    """Return the kind of the first conflict of a claim with a window, None without one."""
    for word in words:
        found = _conflict(word, layers.own, layers.look(word)[0])
        if found:
            return found
    found = _wrong_polarity(words, layers) or wrong_side(words, bound) or _wrong_certainty(words, layers)
    return found or _missing_qualifier(words, layers)


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
        polarities = _table(layers, layer).get(word.key)
        if polarities and word.negated not in polarities:
            return "polarity"
    return None


def _denied(word: Word, own: Polarity) -> bool:
    return word.negated and not word.context and own.get(word.key) == frozenset({True})


def _table(layers: Layers, layer: str) -> Polarity:
    tables = {"own": layers.own, "heading": layers.heading, "paragraph": layers.paragraph, "whole": layers.whole}
    return tables.get(layer, {})


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
    if word.kind == "number" and credit < 1:
        return "number"
    if word.kind == "side" and credit < 1 and (credit == 0 or own.keys() & {"left", "right", "both"}):
        return "side"
    if word.kind in ("drug", "body") and word.key not in lexicon().tissues and credit < PARAGRAPH:
        return word.kind
    if word.key not in own and lexicon().opposites.get(word.key, frozenset()) & own.keys():
        return "opposite"
    return None
