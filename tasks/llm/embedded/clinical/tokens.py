"""Words of a note with their places, as the lexicon and the polarity rules read them."""

import re
from typing import NamedTuple

from tasks.llm.embedded.clinical.data import words

_TOKEN = re.compile(
    r"\([-–+]\)"
    r"|(?:[A-Za-z]/[A-Za-z]{1,2}(?![A-Za-z/]))"  # c/o, h/o, n/v
    r"|[A-Za-z]+(?:['’](?:t|s|ve|re|d|m|ll)\b)?"
    r"|\d+(?:\.\d+)?"
    r"|[^\sA-Za-z\d]"
)
_SKIPPED = frozenset('-‐‑*"“”`_')  # hyphens and marks that neither join nor part words
SHORTENED = words("shortened")


class Token(NamedTuple):
    """One token: as written, in lower case, and its place in the text."""

    text: str
    low: str
    start: int
    end: int


def tokenize(text: str) -> list[Token]:
    """Tokens of ``text`` in order, without hyphens, emphasis marks and the full stops of shortened words."""
    tokens: list[Token] = []
    for match in _TOKEN.finditer(text):
        word = match.group()
        if word in _SKIPPED:
            continue
        if word == "." and tokens and tokens[-1].low in SHORTENED and tokens[-1].end == match.start():
            continue
        tokens.append(Token(word, word.lower().replace("’", "'"), match.start(), match.end()))
    return tokens
