"""The lexicon's pattern language, compiled and matched against tokens.

A pattern is a sequence of words. ``a|b`` are alternatives, ``[a|b]`` is optional, ``~`` matches up to three words,
``stem*`` any word with that prefix. A word in capitals is case-sensitive.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from tasks.simulator.clinical.tokens import Token

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
            or any(token.low.startswith(stem) for stem in self.stems)
        )


def _slot(part: str) -> _Slot:
    if part == "~":
        return _Slot(optional=True, gap=True)
    optional = part.startswith("[")
    alternatives = part.strip("[]").split("|")
    capitals = {a for a in alternatives if a.isupper()}
    stems = tuple(a[:-1].lower() for a in alternatives if a.endswith("*") and len(a) > 1)
    words = {a.lower() for a in alternatives if a not in capitals and not a.endswith("*")}
    return _Slot(frozenset(words), frozenset(capitals), stems, optional)


def _split(pattern: str) -> tuple[_Slot, ...]:
    slots = tuple(_slot(part) for part in pattern.split())
    if not slots or slots[0].gap or all(slot.optional for slot in slots):
        raise ValueError(f"lexicon pattern {pattern!r} must start with a word and have a required word")
    return slots


@dataclass
class Matcher(Generic[Label]):
    """Matches many patterns against a list of tokens."""

    _by_word: dict[str, list[tuple[tuple[_Slot, ...], int, Label]]] = field(default_factory=lambda: defaultdict(list))
    _by_capital: dict[str, list[tuple[tuple[_Slot, ...], int, Label]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    _by_stem: dict[str, list[tuple[str, tuple[_Slot, ...], int, Label]]] = field(
        default_factory=lambda: defaultdict(list)
    )

    def add(self, pattern: str, label: Label) -> None:
        """Add a pattern; its matches carry ``label``."""
        slots = _split(pattern)
        for position, slot in enumerate(slots):
            for word in slot.words:
                self._by_word[word].append((slots, position, label))
            for word in slot.capitals:
                self._by_capital[word].append((slots, position, label))
            for stem in slot.stems:
                self._by_stem[stem[:3]].append((stem, slots, position, label))
            if not slot.optional:
                break

    def matches(self, tokens: Sequence[Token]) -> list[tuple[int, int, Label]]:
        """Return (first token, one past the last token, label) of the longest match of each pattern at each token."""
        found = []
        for start, token in enumerate(tokens):
            begun = list(self._by_word.get(token.low, ()))
            if token.full != token.low:
                begun += self._by_word.get(token.full, ())
            if token.text in self._by_capital:
                begun += self._by_capital[token.text]
            for stem, slots, position, label in self._by_stem.get(token.low[:3], ()):
                if token.low.startswith(stem):
                    begun.append((slots, position, label))
            for slots, position, label in begun:
                end = _longest(tokens, start + 1, slots, position + 1)
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
