"""Words of a note with their places, as the lexicon and the polarity rules read them."""

import re
from functools import lru_cache
from typing import NamedTuple

from tasks.simulator.clinical.abbreviations import expansion
from tasks.simulator.clinical.resources import words

_TOKEN = re.compile(
    r"\([-–+]\)"
    r"|(?:[A-Za-z]/[A-Za-z]{1,2}(?![A-Za-z/]))"  # c/o, h/o, n/v
    r"|[Ww]/"
    r"|[A-Za-z]+(?:['’](?:t|s|ve|re|d|m|ll)\b)?"
    r"|\d+(?:\.\d+)?"
    r"|[^\sA-Za-z\d]"
)
_SKIPPED = frozenset('-‐‑*"“”`_')  # hyphens and marks that neither join nor part words
SHORTENED = words("shortened")


class Token(NamedTuple):
    """One token: as written, in lower case, its place in the text, and what it is short for."""

    text: str
    low: str
    start: int
    end: int
    full: str  # in lower case, a shortened word written out


def tokenize(text: str) -> list[Token]:
    """Tokens of ``text`` in order, without hyphens, emphasis marks and the full stops of shortened words."""
    tokens: list[Token] = []
    for match in _TOKEN.finditer(text):
        word = match.group()
        if word in _SKIPPED:
            continue
        if word == "." and tokens and tokens[-1].end == match.start() and _is_short(tokens[-1]):
            continue
        low = word.lower().replace("’", "'")
        tokens.append(Token(word, low, match.start(), match.end(), _full(word, low)))
    return tokens


@lru_cache(maxsize=8192)
def _full(word: str, low: str) -> str:
    """The one word that a shortened word stands for; the word itself where it stands for several, or for itself."""
    long = expansion(word)
    return long if long is not None and long.isalpha() and long.islower() and word[1:] == word[1:].lower() else low


def _is_short(token: Token) -> bool:
    return token.low in SHORTENED or (token.full != token.low and not token.text.isupper())
