"""Items of a list that the text does not have: "no chills, rash or itching" is not supported by "no chills or rash"."""

import re

from tasks.simulator.judge.content_words import Word, plain, read
from tasks.simulator.judge.premise import Unit

_ITEM = re.compile(r",? (?:and|or|nor)(?:/or)? |, ?")


def missing_item(claim: str, places: tuple[Unit, ...]) -> str | None:
    """Return "item" if a denied list of the claim has an item of which the text has no word, None otherwise."""
    items = _ITEM.split(plain(claim))
    if len(items) < 2:
        return None
    denied = [word for word in read(claim) if word.negated and not word.context]
    known = {word.key for place in places for word in place.words} | {key for place in places for key in place.label}
    keys = {word.key for word in denied}
    if len(keys & known) == 0:
        return None
    return "item" if any(_is_missing(read(item), keys, known) for item in items) else None


def _is_missing(words: tuple[Word, ...], denied: set[str], known: set[str]) -> bool:
    findings = [word.key for word in words if word.kind not in ("light", "number", "side", "body")]
    return bool(findings) and set(findings) <= denied and not set(findings) & known
