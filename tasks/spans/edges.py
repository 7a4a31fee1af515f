"""The ends of a matched stretch: which punctuation beside its words belongs to it."""

import unicodedata

from tasks.spans.tokens import tokenize

_CLASSES = {"“": '"', "”": '"', "„": '"', "«": '"', "»": '"', "‘": "'", "’": "'", "`": "'", "´": "'"}
_ENDS = {".": ".", "!": ".", "?": ".", ",": ",", ";": ",", ":": ","}
_BRACKETS = {"(": ")", "[": "]", "{": "}"}
_REACH = 40  # characters beside a place that may belong to it
_AFTER_NUMBERS = "°%+"


def fit_edges(note: str, place: tuple[int, int], phrase: str) -> tuple[int, int]:
    """Widen ``place`` by the punctuation that the phrase too has at its ends, and by the other half of a bracket."""
    tokens = tokenize(phrase)
    if not tokens:
        return place
    before, after = phrase[: tokens[0].start].lstrip(), phrase[tokens[-1].end :].rstrip()
    start = place[0] - _shared(before[::-1], note[max(0, place[0] - _REACH) : place[0]][::-1])
    end = place[1] + _shared(after, note[place[1] : place[1] + _REACH])
    return _close_brackets(note, start, end)


def _shared(marks: str, beside: str) -> int:
    """How far into ``beside`` the ``marks`` reach, outwards from the words; white space may differ in width."""
    reached = at = 0
    for mark in marks:
        if mark.isspace():
            while at < len(beside) and beside[at].isspace():
                at += 1
        elif at < len(beside) and _class(beside[at]) == _class(mark):
            at += 1
            reached = at
        else:
            break
    return reached


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
