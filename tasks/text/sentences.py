"""Sentence boundaries of clinical notes, with offsets.

The rule by which prompts compare two wordings, so that entailment, omissions and mapped phrases are judged alike.
"""

import re
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


@lru_cache(maxsize=10_000)  # a line takes half a millisecond, and the sentences of a note are asked for many times
def _line_spans(line: str) -> tuple[tuple[int, int], ...]:
    """Sentences of one line; a part that begins in lower case or has no letter or digit continues the previous one."""
    spans: list[tuple[int, int]] = []
    for start, end in _tokenizer().span_tokenize(line):
        part = line[start:end]
        if not part.strip():
            continue
        first, last = start + len(part) - len(part.lstrip()), start + len(part.rstrip())
        if spans and (line[first].islower() or not any(c.isalnum() for c in line[first:last])):
            spans[-1] = (spans[-1][0], last)
        else:
            spans.append((first, last))
    return tuple(spans)


COMPARISON = (
    "How to decide whether a wording is found in a text: what counts is what is said of the patient. Abbreviations, "
    'shorthand, synonyms, word order, units that go without saying, shades of speech ("about", "appears", "reports") '
    'and what is said in addition do not matter. What follows clinically is said too ("lungs clear" says "no '
    'wheezes"); what merely tends to go with it is not ("no tenderness" does not say "no masses"). Decide in this '
    "order. Not found: the text says the opposite, says something else in its place (another number, side or drug), "
    "says it of somebody else, or does not say it. Found in part: something that the wording specifies is missing, "
    "such as its number, time, course, type, trigger, dose, frequency, side, place or severity, or what it states as "
    'certain is only possible or suspected. Found: everything else. At the border: "mild pain" is found in "slight '
    'pain", and in part in "pain"; "possible gout" is found in "gout is suspected".'
)
"""Three outcomes: found, found in part, not found. Each prompt adds what a wording found in part counts for."""
