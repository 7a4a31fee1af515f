"""Words of a note: abbreviations, tokens with positions, and the lexicon's pattern language.

A pattern is a sequence of words. ``a|b`` are alternatives, ``[a|b]`` is optional, ``~`` matches up to three words,
``stem*`` any word with that prefix. A word in capitals is case-sensitive.
"""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeVar

from tasks.domains.in_use import domain_cache
from tasks.simulator.resources import load


def word_list(name: str) -> frozenset[str]:
    """Return a list of words of ``data/words.yaml``."""
    return frozenset(load("clinical", "words")[name].split())


STOP_WORDS = word_list("stop_words")
SHORTENED = word_list("shortened")
_PLAIN_WORD = re.compile(r"[a-z0-9]+")
_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9/&]*\.?|w/o?|[+↑↓→&@](?=\s?\S)")


def abbreviations() -> dict[str, str]:
    """Map abbreviations to expansions. Upper-case abbreviations are case-sensitive, others are listed in lower case."""
    known: dict[str, str] = load("clinical", "words")["abbreviations"]
    return known


def expansion(word: str) -> str | None:
    """Return the expansion of ``word``, or None for an unknown abbreviation."""
    known, bare = abbreviations(), word.rstrip(".")
    return next((known[form] for form in (word, bare, bare.lower()) if form in known), None)


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
    return long + "." if word.endswith(".") and word not in abbreviations() and word[:-1].isupper() else long


@domain_cache(maxsize=8192)
def stem(word: str, endings: str = "endings") -> str:
    """Return a rough stem of a lower-case word, without the first of ``endings`` that it has."""
    found = (
        end for end in load("clinical", "words")[endings].split() if word.endswith(end) and len(word) > len(end) + 2
    )
    return word.removesuffix(next(found, ""))


_TOKEN = re.compile(
    r"\([-–+]\)"
    r"|(?:[A-Za-z]/[A-Za-z]{1,2}(?![A-Za-z/]))"  # c/o, h/o, n/v
    r"|[Ww]/"
    r"|[A-Za-z]+(?:['’](?:t|s|ve|re|d|m|ll)\b)?"
    r"|\d+(?:\.\d+)?"
    r"|[^\sA-Za-z\d]"
)
_SKIPPED = frozenset('-‐‑*"“”`_')  # hyphens and marks that are neither words nor separators


class Token(NamedTuple):
    """A token: as written, in lower case, position, and expansion."""

    text: str
    low: str
    start: int
    end: int
    full: str  # lower case, abbreviation expanded


def tokenize(text: str, start: int = 0, end: int | None = None) -> list[Token]:
    """Return the tokens of a stretch, without hyphens, emphasis marks and full stops of abbreviations."""
    tokens: list[Token] = []
    for match in _TOKEN.finditer(text, start, len(text) if end is None else end):
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


_GAP = 3
_NO_GAP = frozenset([".", ",", ";", "or", "nor", "no", "not", "denies", "denied", "without", "but", "w/o"])
Label = TypeVar("Label")


@dataclass(frozen=True)
class _Slot:
    words: frozenset[str] = frozenset()
    capitals: frozenset[str] = frozenset()
    stems: tuple[str, ...] = ()
    optional: bool = False
    gap: bool = False

    def fits(self, token: Token) -> bool:
        return (
            token.low in self.words
            or token.full in self.words
            or token.text in self.capitals
            or token.low.startswith(self.stems)
        )


def _slot(part: str) -> _Slot:
    if part == "~":
        return _Slot(optional=True, gap=True)
    alternatives = part.strip("[]").split("|")
    capitals = {a for a in alternatives if a.isupper()}
    stems = tuple(a[:-1].lower() for a in alternatives if a.endswith("*") and len(a) > 1)
    words = {a.lower() for a in alternatives if a not in capitals and not a.endswith("*")}
    return _Slot(frozenset(words), frozenset(capitals), stems, optional=part.startswith("["))


def _split(pattern: str) -> tuple[_Slot, ...]:
    slots = tuple(_slot(part) for part in pattern.split())
    if not slots or slots[0].gap or all(slot.optional for slot in slots):
        raise ValueError(f"lexicon pattern {pattern!r} must start with a word and have a required word")
    return slots


@dataclass
class Matcher(Generic[Label]):
    """Matches many patterns against a list of tokens. A pattern is listed by each token that it may begin with."""

    _begun: dict[tuple[str, str], list[tuple[str, tuple[_Slot, ...], int, Label]]] = field(
        default_factory=lambda: defaultdict(list)
    )

    def add(self, pattern: str, label: Label) -> None:
        """Add a pattern; its matches carry ``label``."""
        slots = _split(pattern)
        for position, slot in enumerate(slots):
            first = [("word", word, "") for word in slot.words] + [("capital", word, "") for word in slot.capitals]
            for kind, word, stem in first + [("stem", stem[:3], stem) for stem in slot.stems]:
                self._begun[kind, word].append((stem, slots, position, label))
            if not slot.optional:
                break

    def matches(self, tokens: Sequence[Token]) -> list[tuple[int, int, Label]]:
        """Return (first token, one past the last token, label) of the longest match of each pattern at each token."""
        found = []
        for start, token in enumerate(tokens):
            full = [("word", token.full)] if token.full != token.low else []
            forms = [("word", token.low), *full, ("capital", token.text), ("stem", token.low[:3])]
            for stem, slots, position, label in (begun for form in forms for begun in self._begun.get(form, ())):
                end = _longest(tokens, start + 1, slots, position + 1) if token.low.startswith(stem) else 0
                if end:
                    found.append((start, end, label))
        return found


def _longest(tokens: Sequence[Token], at: int, slots: tuple[_Slot, ...], position: int) -> int:
    """Return the end of the longest match of the remaining slots; 0 if there is none."""
    if position == len(slots):
        return at
    slot = slots[position]
    if slot.gap:
        best = 0
        for skipped in range(_GAP + 1):
            best = max(best, _longest(tokens, at + skipped, slots, position + 1))
            if at + skipped >= len(tokens) or tokens[at + skipped].low in _NO_GAP:
                break
        return best
    taken = 0
    if at < len(tokens) and slot.fits(tokens[at]):
        taken = _longest(tokens, at + 1, slots, position + 1)
    if taken or not slot.optional:
        return taken
    return _longest(tokens, at, slots, position + 1)
