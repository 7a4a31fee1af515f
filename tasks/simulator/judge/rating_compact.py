"""Rate a compact version: share of content kept, and share of common abbreviations."""

import re

from tasks.simulator.clinical.abbreviations import expansion
from tasks.simulator.clinical.findings import find
from tasks.simulator.clinical.similarity import bag, weight

_SHORT = re.compile(r"\b(?:[A-Z][A-Za-z]*\.|[A-Z]{2,}[a-z]?|[A-Za-z]/[A-Za-z]+|[b-df-hj-np-tv-z]{2,5})\b")
_CONTENT = ((5, 0.74), (4, 0.60), (3, 0.45), (2, 0.30))
"""Rating and minimum share kept, calibrated so that published pairs average the physicians' 4.88."""
_NUMBER = re.compile(r"\d+(?:[.,]\d+)?")


def content_rating(note: str, compact: str) -> int:
    """Return 1 to 5 by the share of content kept: findings and numbers, and words."""
    share = (_kept_findings(note, compact) + _kept_words(note, compact)) / 2
    return next((rating for rating, least in _CONTENT if share >= least), 1)


def _kept_findings(note: str, compact: str) -> float:
    """Return the share of findings (with polarity) and numbers kept; 1 for a note without any."""
    wanted, kept = _content(note), _content(compact)
    return len(wanted & kept) / len(wanted) if wanted else 1.0


def _content(text: str) -> frozenset[str]:
    findings = {f"{f.concept}/{f.polarity}" for f in find(text) if f.kind not in ("weak", "anaphor", "feature")}
    return frozenset(findings | set(_NUMBER.findall(text)))


def _kept_words(note: str, compact: str) -> float:
    """Return the weighted share of the note's words kept, with abbreviations expanded."""
    kept = bag(compact)
    wanted = {form: weight(form) for form in bag(note)}
    return sum(value for form, value in wanted.items() if form in kept) / max(sum(wanted.values()), 1.0)


def readability_rating(compact: str) -> int:
    """Return 1 to 5 by the share of abbreviated words; unknown abbreviations count three times."""
    words = compact.split()
    short = _SHORT.findall(compact)
    unknown = [word for word in short if expansion(word) is None]
    density = (len(short) + 2 * len(unknown)) / max(len(words), 1)
    for rating, most in ((5, 0.10), (4, 0.28), (3, 0.45), (2, 0.65)):
        if density <= most:
            return rating
    return 1
