"""Items of a list that the text does not have: "no chills, rash or itching" is not supported by "no chills or rash"."""

import re

from tasks.simulator.judge.content_words import plain, read
from tasks.simulator.judge.premise import Unit

_NEUTRAL = ("light", "number", "side", "body")
_ITEM = re.compile(r",? (?:and|or|nor)(?:/or)? |, ?")


def missing_item(claim: str, places: tuple[Unit, ...]) -> str | None:
    """Return "item" if the text has no word of one item of a denied list of at least three, None otherwise."""
    items = _ITEM.split(plain(claim))
    denied = {word.key for word in read(claim) if word.negated and not word.context}
    known = {word.key for place in places for word in place.words} | {key for place in places for key in place.label}
    findings = [keys for keys in map(_findings, items) if keys and keys <= denied]
    missing = [keys for keys in findings if not keys & known]
    return "item" if len(missing) == 1 and len(findings) > 2 else None


def _findings(item: str) -> frozenset[str]:
    return frozenset(word.key for word in read(item) if word.kind not in _NEUTRAL)
