"""A sentence in clinical shorthand: common words abbreviated, articles left out."""

import re

_SHORT = {
    "the patient": "pt",
    "patient": "pt",
    "with": "w/",
    "without": "w/o",
    "shortness of breath": "SOB",
    "history": "hx",
    "examination": "exam",
    "temperature": "temp",
    "bilaterally|bilateral": "bilat",
    "normal": "nl",
    "symptoms": "sx",
    "treatment": "tx",
    "medication": "med",
    "approximately": "approx.",
    "blood pressure": "BP",
    "heart rate": "HR",
    "respiratory rate": "RR",
    "complains of": "c/o",
    "follow[- ]up": "f/u",
}
_FORMS = [(re.compile(rf"\b(?:{long})\b", re.IGNORECASE), short) for long, short in _SHORT.items()]
_OMITTED = re.compile(r"\b(?:the|a|an|also|that|which)\s", re.IGNORECASE)


def shorten(sentence: str) -> str:
    """Return the sentence in shorthand, without articles."""
    for pattern, short in _FORMS:
        sentence = pattern.sub(short, sentence)
    return _OMITTED.sub("", sentence)
