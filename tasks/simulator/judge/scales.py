"""Ordered words: how many ("some", "most", "all"), how often, and the course of a complaint.

A claim has to have the class of the text: "most of the joints" is not supported by "some of the joints", nor constant
pain by pain that comes and goes. A course that the text does not give for any of the claim's findings is unsupported.
"""

import re

from tasks.domains.in_use import domain_cache
from tasks.simulator.judge.content_words import Word, plain
from tasks.simulator.judge.lexicon import lexicon
from tasks.simulator.judge.premise import Unit

_NEUTRAL = ("light", "number", "side")


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
