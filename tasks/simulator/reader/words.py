"""Words of a text: tokens with abbreviations written out, stems and numbers."""

import re
from typing import NamedTuple

from nltk.stem.snowball import EnglishStemmer

from tasks.domains.in_use import domain_cache
from tasks.simulator.resources import load

_STEMMER = EnglishStemmer()
_WORDS = load("reader", "words")
_ABBREVIATIONS: dict[str, str] = _WORDS["abbreviations"]
_SHORTENED, STOP = frozenset(_WORDS["shortened"].split()), frozenset(_WORDS["stop_words"].split())
NUMBERS = {word: str(number) for word, number in _WORDS["numbers"].items()}
UNITS = {form: unit for unit, forms in _WORDS["units"].items() for form in forms.split()}
SIDES = {word: side for side, words in _WORDS["sides"].items() for word in words.split()}
_SHORT = re.compile(r"[A-Za-z0-9][A-Za-z0-9/&]*\.?|w/o?|[+↑↓→&@](?=\s?\S)")
_TOKEN = re.compile(
    r"\([-–+]\)|(?:[A-Za-z]/[A-Za-z]{1,2}(?![A-Za-z/]))|[Ww]/|[A-Za-z]+(?:['’](?:t|s|ve|re|d|m|ll)\b)?|\d+(?:\.\d+)?"
    r"|[^\sA-Za-z\d]"
)
_SKIPPED = frozenset('-‐‑*"“”`_')
_CONTENT = re.compile(r"\d{4}-\d\d-\d\d|\d+(?:[.,/]\d+)*|[a-z]+(?:'[a-z]+)?", re.IGNORECASE)


def expansion(word: str) -> str | None:
    """The expansion of an abbreviation; None for another word. Upper-case abbreviations are case-sensitive."""
    bare = word.rstrip(".")
    return next((_ABBREVIATIONS[form] for form in (word, bare, bare.lower()) if form in _ABBREVIATIONS), None)


@domain_cache(maxsize=4_000)
def expand(text: str) -> str:
    """``text`` with its abbreviations written out."""

    def written_out(match: re.Match[str]) -> str:
        long = expansion(match.group())
        ends = match.group().endswith(".") and match.group() not in _ABBREVIATIONS and match.group()[:-1].isupper()
        return match.group() if long is None else f"{long}." if ends else long

    return _SHORT.sub(written_out, text)


_CLASSES: dict[str, str] = {
    _STEMMER.stem(word): _STEMMER.stem(words[0]) for words in map(str.split, _WORDS["classes"]) for word in words
}
"""The first word of each class of synonyms, by the stems of all."""


@domain_cache(maxsize=50_000)
def stem(word: str) -> str:
    """The Snowball stem of a word (Porter 2001), or that of its class of synonyms; a number in figures."""
    low = word.lower()
    found = str(_STEMMER.stem(low))
    return NUMBERS.get(low) or SIDES.get(low) or _CLASSES.get(found, found)


class Content(NamedTuple):
    """A content word of an expanded text: its stem and place."""

    stem: str
    start: int
    end: int


def content(expanded: str) -> list[Content]:
    """The content words of an `expand`-ed text, in order."""
    found = ((match.group(), *match.span()) for match in _CONTENT.finditer(expanded))
    return [Content(stem(word), start, end) for word, start, end in found if word.lower() not in STOP]


@domain_cache(maxsize=20_000)
def stems(text: str) -> frozenset[str]:
    """The stems of the content words of ``text``."""
    return frozenset(word.stem for word in content(expand(text)))


def similarity(one: str, other: str) -> float:
    """Dice coefficient of the stems of two texts."""
    ours, theirs = stems(one), stems(other)
    return 2 * len(ours & theirs) / (len(ours) + len(theirs)) if ours and theirs else 0.0


class Token(NamedTuple):
    """A token: as written, in lower case, its place, and in lower case with a one-word abbreviation written out."""

    text: str
    low: str
    start: int
    end: int
    full: str


def tokenize(text: str, start: int, end: int) -> list[Token]:
    """The tokens of a stretch, without hyphens, emphasis marks and full stops of abbreviations."""
    tokens: list[Token] = []
    for match in _TOKEN.finditer(text, start, end):
        word = match.group()
        last = tokens[-1] if tokens else None
        short = last is not None and (last.low in _SHORTENED or (last.full != last.low and not last.text.isupper()))
        if word in _SKIPPED or (word == "." and last is not None and last.end == match.start() and short):
            continue
        low, long = word.lower().replace("’", "'"), expansion(word)
        single = long is not None and long.isalpha() and long.islower() and word[1:] == word[1:].lower()
        tokens.append(Token(word, low, *match.span(), str(long) if single else low))
    return tokens
