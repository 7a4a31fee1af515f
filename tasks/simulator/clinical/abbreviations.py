"""Clinical abbreviations and their expansions, for reading compact notes."""

import re

from tasks.domains.in_use import domain_cache
from tasks.simulator.clinical.resources import load, words

STOP_WORDS = words("stop_words")
_PLAIN_WORD = re.compile(r"[a-z0-9]+")
_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9/&]*\.?|w/o?|[+↑↓→&@](?=\s?\S)")


@domain_cache(maxsize=1)
def table() -> dict[str, str]:
    """Map abbreviations to expansions. Upper-case abbreviations are case-sensitive, others are listed in lower case."""
    return {str(short): str(long) for short, long in load("abbreviations").items()}


def expansion(word: str) -> str | None:
    """Return the expansion of ``word``, or None for an unknown abbreviation."""
    known, bare = table(), word.rstrip(".")
    for form in (word, bare, bare.lower()):
        if form in known:
            return known[form]
    return None


def expand(text: str) -> str:
    """Expand all known abbreviations in ``text``."""
    return _WORD.sub(lambda match: _written_out(match.group()), text)


def content_words(text: str) -> list[str]:
    """Words of ``text`` in lower case, without stop words and with abbreviations expanded."""
    return [word for word in _PLAIN_WORD.findall(expand(text).lower()) if word not in STOP_WORDS]


def _written_out(word: str) -> str:
    long = expansion(word)
    if long is None:
        return word
    # A full stop after an upper-case abbreviation ends the sentence; after another it is part of the abbreviation.
    return long + "." if word.endswith(".") and word not in table() and word[:-1].isupper() else long
