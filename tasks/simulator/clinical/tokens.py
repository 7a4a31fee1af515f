"""Tokens of a note with positions, as input of lexicon and negation rules."""

import re
from typing import NamedTuple

from tasks.domains.in_use import domain_cache
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
_SKIPPED = frozenset('-‐‑*"“”`_')  # hyphens and marks that are neither words nor separators
SHORTENED = words("shortened")


class Token(NamedTuple):
    """A token: as written, in lower case, position, and expansion."""

    text: str
    low: str
    start: int
    end: int
    full: str  # lower case, abbreviation expanded


def tokenize(text: str) -> list[Token]:
    """Return the tokens of ``text``, without hyphens, emphasis marks and full stops of abbreviations."""
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


@domain_cache(maxsize=8192)
def _full(word: str, low: str) -> str:
    """Return the expansion of an abbreviation if it is a single word, otherwise the word itself."""
    long = expansion(word)
    return long if long is not None and long.isalpha() and long.islower() and word[1:] == word[1:].lower() else low


def _is_short(token: Token) -> bool:
    return token.low in SHORTENED or (token.full != token.low and not token.text.isupper())
