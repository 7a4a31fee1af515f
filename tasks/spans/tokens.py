"""A text as tokens with offsets: what stays of it when case, punctuation and white space do not count.

A token is a word, a number or a symbol. Letters and digits never share a token, so ``5days`` reads as ``5 days``. A
decimal number is one token. Symbols (``+``, ``<``, an arrow, an emoji) are tokens because they carry meaning in notes;
punctuation, white space and the degree sign are not, nor is the minus sign, which stands for a dash. Scripts that are
written without spaces give a token a character.
"""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

import regex

_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
_WORD = rf"[{_UNSPACED}]\p{{M}}*|[\p{{L}}\p{{M}}--[{_UNSPACED}]]+"
_SYMBOL = r"[\p{S}--[°\u2212\p{Sk}]]\p{M}*"
_TOKEN = regex.compile(
    rf"(?P<number>\p{{Nd}}+(?:[.,]\p{{Nd}}+)*)|(?P<other_number>\p{{N}})|(?P<word>{_WORD})|(?P<symbol>{_SYMBOL})",
    regex.VERSION1,
)
_PIECE = regex.compile(rf"\p{{N}}+|{_WORD}", regex.VERSION1)
_VARIATION = "\ufe0e\ufe0f"


@dataclass(frozen=True)
class Token:
    """``text[start:end]``, and its form without case and variants."""

    start: int
    end: int
    form: str
    is_symbol: bool = False


def tokenize(text: str) -> list[Token]:
    """The tokens of ``text`` in order."""
    return [Token(m.start(), m.end(), _form(m.group()), m.lastgroup == "symbol") for m in _TOKEN.finditer(text)]


def pieces(text: str) -> list[Token]:
    """Runs of letters and runs of digits, decimals apart and symbols left out: the finest reading of a text."""
    return [Token(m.start(), m.end(), _form(m.group())) for m in _PIECE.finditer(text)]


def forms(tokens: Sequence[Token]) -> list[str]:
    """The forms of tokens, in order."""
    return [token.form for token in tokens]


def _form(token: str) -> str:
    plain = unicodedata.normalize("NFKC", token).casefold().replace(",", ".")
    return unicodedata.normalize("NFC", plain).translate({ord(c): None for c in _VARIATION})
