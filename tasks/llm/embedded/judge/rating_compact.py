"""Whether a compact version keeps a note's content, and whether its abbreviations are common ones."""

import re

from tasks.llm.embedded.clinical.abbreviations import expansion
from tasks.llm.embedded.clinical.findings import find

_SHORT = re.compile(r"\b(?:[A-Z][A-Za-z]*\.|[A-Z]{2,}[a-z]?|[A-Za-z]/[A-Za-z]+|[b-df-hj-np-tv-z]{2,5})\b")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)?")


def content_rating(note: str, compact: str) -> int:
    """1 to 5 by the share of the note's findings and numbers that the compact version keeps with their polarity."""
    wanted, kept = _told(note), _told(compact)
    share = len(wanted & kept) / len(wanted) if wanted else 1.0
    for rating, least in ((5, 0.9), (4, 0.7), (3, 0.5), (2, 0.3)):
        if share >= least:
            return rating
    return 1


def _told(text: str) -> frozenset[str]:
    findings = {f"{f.concept}/{f.polarity}" for f in find(text) if f.kind not in ("weak", "anaphor", "feature")}
    return frozenset(findings | set(_NUMBER.findall(text)))


def readability_rating(compact: str) -> int:
    """1 to 5 by the share of words that are abbreviations, those that nobody has a list for counting thrice."""
    words = compact.split()
    short = _SHORT.findall(compact)
    unknown = [word for word in short if expansion(word) is None]
    density = (len(short) + 2 * len(unknown)) / max(len(words), 1)
    for rating, most in ((5, 0.10), (4, 0.28), (3, 0.45), (2, 0.65)):
        if density <= most:
            return rating
    return 1
