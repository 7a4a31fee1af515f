"""The ends of a matched stretch: which punctuation beside its words belongs to it."""

import unicodedata

from tasks.spans.tokens import tokenize

_CLASSES = {"“": '"', "”": '"', "„": '"', "«": '"', "»": '"', "‘": "'", "’": "'", "`": "'", "´": "'"}
_ENDS = {".": ".", "!": ".", "?": ".", ",": ",", ";": ",", ":": ","}
_BRACKETS = {"(": ")", "[": "]", "{": "}"}
_AFTER_NUMBERS = "°%+"


def fit_edges(note: str, place: tuple[int, int], phrase: str) -> tuple[int, int]:
    """Widen ``place`` by the punctuation that the phrase too has at its ends, and by the other half of a bracket."""
    tokens = tokenize(phrase)
    if not tokens:
        return place
    start, end = place
    for mark in reversed(phrase[: tokens[0].start].strip()):
        if start == 0 or _class(note[start - 1]) != _class(mark):
            break
        start -= 1
    for mark in phrase[tokens[-1].end :].strip():
        if end == len(note) or _class(note[end]) != _class(mark):
            break
        end += 1
    return _close_brackets(note, start, end)


def _class(mark: str) -> str:
    if unicodedata.category(mark) == "Pd" or mark == "−":
        return "-"
    return _ENDS.get(mark) or _CLASSES.get(mark, mark)


def _close_brackets(note: str, start: int, end: int) -> tuple[int, int]:
    for opening, closing in _BRACKETS.items():
        depth = lowest = 0
        for mark in note[start:end]:
            depth += (mark == opening) - (mark == closing)
            lowest = min(lowest, depth)
        after = end
        while after < len(note) and note[after] in _AFTER_NUMBERS:
            after += 1
        if depth - lowest == 1 and lowest == 0 and note[after : after + 1] == closing:
            end = after + 1
        elif lowest == -1 and depth == -1 and start > 0 and note[start - 1] == opening:
            start -= 1
    return start, end
