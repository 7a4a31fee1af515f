"""Whether answer choices are fit for use (EHRNoteQA, Section 3.3 and Appendix A.2)."""

import re
from collections.abc import Sequence

from schemas.tables.note_qa import LETTERS

_WORD = re.compile(r"[a-z0-9][a-z0-9.'-]*[a-z0-9]|[a-z0-9]")
_SMALL = frozenset(
    ["the", "and", "for", "was", "were", "with", "that", "this", "from", "not", "has", "had", "have", "but", "are"],
)


def unfit(choices: Sequence[str], right: str) -> str | None:
    """Why five choices cannot be used, or None: empty or equal ones, no right letter, the right one far the longest."""
    texts = [" ".join(choice.split()).casefold() for choice in choices]
    if len(texts) != len(LETTERS) or not all(texts):
        return "not five choices"
    if len(set(texts)) < len(texts):
        return "two choices are the same"
    if right.strip().upper() not in LETTERS:
        return "no letter for the right choice"
    own = len(texts[LETTERS.index(right.strip().upper())])
    return "the right choice is far the longest" if own > 1.5 * sorted(map(len, texts))[-2] and own > 20 else None


def right_is_longest(choices: Sequence[str], right: str) -> bool:
    """Whether the right choice is longer than every other; of fair questions, a fifth."""
    lengths = [len(choice) for choice in choices]
    own = lengths.pop(LETTERS.index(right))
    return own > max(lengths)


def length_ratio(choices: Sequence[str]) -> float:
    """Shortest to longest choice in characters: 1 when all are of one length."""
    lengths = [len(choice) for choice in choices]
    return min(lengths) / max(lengths)


def grounded_share(choice: str, notes: str) -> float:
    """Share of a choice's content words that stand in the notes; 1 for a choice of none."""
    words = {word for word in _WORD.findall(choice.lower()) if len(word) > 2 and word not in _SMALL}
    held = set(_WORD.findall(notes.lower()))
    return len(words & held) / len(words) if words else 1.0
