"""Assigns claims to the sentences of a text that they most likely come from, to display verdicts in the text."""

import re
from collections.abc import Sequence

from tasks.text.sentences import sentence_spans

_WORD = re.compile(r"[a-z0-9]+(?:[./][0-9]+)?")
_COMMON = frozenset(
    re.findall(
        r"\w+",
        "a an and are as at be been by for from had has have he her him his in is it its of on or she that the their "
        "them there they this to was were will with patient s",
    )
)
LEAST = 0.34
"""Least share of a claim's words that its sentence has; a claim below it belongs to no sentence."""


def segments(text: str) -> list[tuple[str, bool]]:
    """``text`` cut into sentences (True) and what lies between them (False), in order and complete."""
    parts: list[tuple[str, bool]] = []
    end = 0
    for start, stop in sentence_spans(text):
        if start > end:
            parts.append((text[end:start], False))
        parts.append((text[start:stop], True))
        end = stop
    if end < len(text):
        parts.append((text[end:], False))
    return parts


def align(claims: Sequence[str], parts: Sequence[tuple[str, bool]]) -> list[int | None]:
    """Number of the segment of each claim: the sentence with the largest share of its words, the first of equals."""
    sentences = [(at, _words(text)) for at, (text, is_sentence) in enumerate(parts) if is_sentence]
    found: list[int | None] = []
    for claim in claims:
        words = _words(claim)
        scored = [(_share(words, own), -at) for at, own in sentences]
        share, at = max(scored, default=(0.0, 0))
        found.append(-at if share >= LEAST else None)
    return found


def _words(text: str) -> frozenset[str]:
    return frozenset(word[:6] for word in _WORD.findall(text.lower()) if word not in _COMMON)


def _share(words: frozenset[str], own: frozenset[str]) -> float:
    """Share of the claim's words in the sentence, with a small penalty for the sentence's other words."""
    if not words:
        return 0.0
    shared = len(words & own)
    return shared / len(words) - 0.001 * len(own - words)
