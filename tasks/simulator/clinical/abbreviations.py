"""Clinical abbreviations and their expansions, for reading compact notes."""

import re
from functools import lru_cache

from tasks.simulator.clinical.resources import load

_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9/&]*\.?|w/o?|[+↑↓→&@](?=\s?\S)")


@lru_cache(maxsize=1)
def table() -> dict[str, str]:
    """Abbreviation -> expansion. Those in capitals are case-sensitive, the others stand in lower case."""
    return {str(short): str(long) for short, long in load("abbreviations").items()}


def expansion(word: str) -> str | None:
    """What ``word`` stands for, or None when it is no known abbreviation."""
    known, bare = table(), word.rstrip(".")
    for form in (word, bare, bare.lower()):
        if form in known:
            return known[form]
    return None


def expand(text: str) -> str:
    """``text`` with every known abbreviation written out."""
    return _WORD.sub(lambda match: _written_out(match.group()), text)


def _written_out(word: str) -> str:
    long = expansion(word)
    if long is None:
        return word
    # A full stop after capitals ends the sentence; after a shortened word it belongs to the word.
    return long + "." if word.endswith(".") and word not in table() and word[:-1].isupper() else long
