"""Sentence boundaries of clinical notes, with offsets.

The rule by which prompts compare two wordings, so that entailment, omissions and mapped phrases are judged alike.
"""

import re
from collections.abc import Iterator
from functools import lru_cache

from nltk.tokenize.punkt import PunktParameters, PunktSentenceTokenizer

_ABBREVIATIONS = frozenset(
    ["dr", "mr", "mrs", "ms", "prof", "st", "vs", "e.g", "i.e", "cf", "approx", "ca", "temp", "resp", "min", "max"]
)
"""Abbreviations that may be followed by a capital or a number within a sentence. Other abbreviations need no list: text
that continues in lower case is the same sentence, and a capital after ``bilat.`` starts the next one."""


@lru_cache(maxsize=1)
def _tokenizer() -> PunktSentenceTokenizer:
    parameters = PunktParameters()
    parameters.abbrev_types = set(_ABBREVIATIONS)
    return PunktSentenceTokenizer(parameters)


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """(start, end) of each sentence of ``text``, without surrounding white space. A line break ends a sentence."""
    return [
        (line.start() + start, line.start() + end)
        for line in re.finditer(r"[^\n]+", text)
        for start, end in _line_spans(line.group())
    ]


def sentences(text: str) -> list[str]:
    """The sentences of ``text`` in order."""
    return [text[start:end] for start, end in sentence_spans(text)]


def _line_spans(line: str) -> Iterator[tuple[int, int]]:
    """Sentences of one line; a part that begins in lower case or has no letter or digit continues the previous one."""
    pending: tuple[int, int] | None = None
    for start, end in _tokenizer().span_tokenize(line):
        part = line[start:end]
        if not part.strip():
            continue
        first, last = start + len(part) - len(part.lstrip()), start + len(part.rstrip())
        if pending and _continues(line[first:last]):
            pending = (pending[0], last)
            continue
        if pending:
            yield pending
        pending = (first, last)
    if pending:
        yield pending


def _continues(part: str) -> bool:
    return part[0].islower() or not any(c.isalnum() for c in part)


COMPARISON = (
    "How to compare wordings: abbreviations, shorthand, synonyms, word order and units that go without saying do not "
    'matter, nor do shades ("about", "appears", "slightly", "reports") or what is said in addition. A wording is found '
    "in part when its number, time, dose, frequency, side, place or severity (mild, severe) is missing, or when what "
    "it states as certain is given as possible or suspected only. It is not found when one of these differs, when the "
    "words concern somebody else, or when present has become absent or the reverse."
)
"""Three outcomes: found, found in part, not found. Each prompt adds what a wording found in part counts for."""
