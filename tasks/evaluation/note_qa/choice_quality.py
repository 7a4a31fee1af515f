"""Checks and measures of answer choices (EHRNoteQA, Section 3.3 and Appendix A.2)."""

import re
from collections.abc import Sequence

from schemas.tables.note_qa import LETTERS

_WORD = re.compile(r"[a-z0-9][a-z0-9.'-]*[a-z0-9]|[a-z0-9]")
_STOP_WORDS = frozenset(
    ["the", "and", "for", "was", "were", "with", "that", "this", "from", "not", "has", "had", "have", "but", "are"]
)


def unfit(choices: Sequence[str], right: str) -> str | None:
    """The reason why answer choices cannot be used, or None.

    Choices must be five different texts with a letter A-E for the right one, which must not be longer than 20
    characters and 1.5 times the longest of the others.
    """
    texts = [" ".join(choice.split()).casefold() for choice in choices]
    if len(texts) != len(LETTERS) or not all(texts):
        return "not five choices"
    if len(set(texts)) < len(texts):
        return "two choices are the same"
    if right.strip().upper() not in LETTERS:
        return "no letter for the right choice"
    own = len(texts[LETTERS.index(right.strip().upper())])
    much_longer = own > 1.5 * sorted(map(len, texts))[-2] and own > 20
    return "the right choice is far the longest" if much_longer else None


def right_is_longest(choices: Sequence[str], right: str) -> bool:
    """Whether the right choice is longer than every other; expected in a fifth of fair questions."""
    lengths = [len(choice) for choice in choices]
    own = lengths.pop(LETTERS.index(right))
    return own > max(lengths)


def length_ratio(choices: Sequence[str]) -> float:
    """Length of the shortest choice over the longest, in characters: 0-1, 1 when all have the same length."""
    lengths = [len(choice) for choice in choices]
    return min(lengths) / max(lengths)


def grounded_share(choice: str, notes: str) -> float:
    """Share (0-1) of a choice's content words that occur in the notes; 1 for a choice without content words."""
    words = {word for word in _WORD.findall(choice.lower()) if len(word) > 2 and word not in _STOP_WORDS}
    held = set(_WORD.findall(notes.lower()))
    return len(words & held) / len(words) if words else 1.0
