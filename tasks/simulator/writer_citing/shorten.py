"""Shorthand for sentences, and seeded citation errors like those of models."""

import hashlib
import re

_SHORT = {
    r"the patient": "pt",
    r"patient": "pt",
    r"with": "w/",
    r"without": "w/o",
    r"shortness of breath": "SOB",
    r"history": "hx",
    r"examination": "exam",
    r"temperature": "temp",
    r"bilaterally|bilateral": "bilat",
    r"normal": "nl",
    r"symptoms": "sx",
    r"treatment": "tx",
    r"medication": "med",
    r"approximately": "approx.",
    r"blood pressure": "BP",
    r"heart rate": "HR",
    r"respiratory rate": "RR",
    r"complains of": "c/o",
    r"follow[- ]up": "f/u",
}
_PATTERNS = [(re.compile(rf"\b(?:{long})\b", re.IGNORECASE), short) for long, short in _SHORT.items()]
_DROPPED = re.compile(r"\b(?:the|a|an|also|that|which)\s", re.IGNORECASE)


def shorten(sentence: str) -> str:
    """Return the sentence in shorthand, without articles."""
    for pattern, short in _PATTERNS:
        sentence = pattern.sub(short, sentence)
    return _DROPPED.sub("", sentence)


def chance(*parts: object) -> float:
    """Return a number in [0, 1) determined by ``parts``."""
    digest = hashlib.sha256("\x1f".join(map(str, parts)).encode()).digest()
    return int.from_bytes(digest[:6], "big") / 2**48


REDUNDANT, WRONG, MISSING = 0.10, 0.04, 0.03  # shares of statements with erroneous citations


def cite(number: int, total: int, *parts: object) -> str:
    """Return the citation of a statement based on input sentence ``number`` of ``total``, occasionally erroneous."""
    draw = chance("slip", number, *parts)
    other = (number + 1) % total if total > 1 else number
    if draw < MISSING:
        return ""
    if draw < MISSING + WRONG:
        return f" [{other}]"
    if draw < MISSING + WRONG + REDUNDANT and other != number:
        return f" [{number}] [{other}]"
    return f" [{number}]"
