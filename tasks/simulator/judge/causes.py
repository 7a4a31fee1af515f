"""Causal claims: "chest pain due to anxiety" needs a place that connects the two, not one that has both."""

import re

from tasks.simulator.judge.content_words import Word, plain, read
from tasks.simulator.judge.premise import Unit

_CONNECTIVE = re.compile(
    r"\b(?:due to|caused by|because(?: of)?|secondary to|attribut(?:ed|able) to|as a result of"
    r"|result(?:s|ed|ing) (?:from|of)|owing to|on account of|explained by"
    r"|stem(?:s|med|ming)? from|induced by|triggered by|provoked by|precipitated by"
    r"|brought on by)\b"
)
_CUE = re.compile(
    _CONNECTIVE.pattern
    + r"|\b(?:since|from|after|following|for(?! \d| about| the (?:past|last)| over)|cause[sd]?|causing|reason"
    r"|related|associated|leads? to|led to"
    r"|result(?:s|ed|ing)?|contribut\w+|trigger\w*|provok\w+|induc\w+|brings? on|consistent with|given|so|worsen"
    r"|in response to)\b"
)
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
