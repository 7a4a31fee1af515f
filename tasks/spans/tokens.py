"""Splits a text into tokens with offsets, ignoring case, punctuation and white space.

A token is a word, a number or a symbol. Letters and digits are separate tokens, so ``5days`` equals ``5 days``. A
decimal number is one token. Symbols (``+``, ``<``, arrows, emoji) are tokens because they have meaning in notes. The
degree sign and the minus sign, which is used as a dash, are not. In scripts without spaces, each character is a token.
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
    """``text[start:end]`` with its normalised form."""

    start: int
    end: int
    form: str
    is_symbol: bool = False


def tokenize(text: str) -> list[Token]:
    """The tokens of ``text``, in order."""
    return [Token(m.start(), m.end(), _form(m.group()), m.lastgroup == "symbol") for m in _TOKEN.finditer(text)]


def pieces(text: str) -> list[Token]:
    """Runs of letters and runs of digits, in order, without symbols; a decimal number gives two."""
    return [Token(m.start(), m.end(), _form(m.group())) for m in _PIECE.finditer(text)]


def forms(tokens: Sequence[Token]) -> list[str]:
    """The normalised forms of tokens, in order."""
    return [token.form for token in tokens]


def _form(token: str) -> str:
    plain = unicodedata.normalize("NFKC", token).casefold().replace(",", ".")
    return unicodedata.normalize("NFC", plain).translate({ord(c): None for c in _VARIATION})
