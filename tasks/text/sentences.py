"""Sentence boundaries of clinical notes, with offsets."""

import re
from functools import lru_cache

from nltk.tokenize.punkt import PunktParameters, PunktSentenceTokenizer

_ABBREVIATIONS = (
    "dr mr mrs ms vs e.g i.e approx temp resp min max no pt pts hx dx tx rx sx fx bilat abd cv neuro wt ht ca appt",
    "cont prev med meds mod sev decongest congest pharyng insp exp freq occ prod nml neg pos ext lymph",
)


@lru_cache(maxsize=1)
def _tokenizer() -> PunktSentenceTokenizer:
    parameters = PunktParameters()
    parameters.abbrev_types = set(" ".join(_ABBREVIATIONS).split())
    return PunktSentenceTokenizer(parameters)


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """(start, end) of each sentence of ``text``, without surrounding white space. A line break ends a sentence."""
    spans = []
    for line in re.finditer(r"[^\n]+", text):
        for start, end in _tokenizer().span_tokenize(line.group()):
            stretch = line.group()[start:end]
            lead = len(stretch) - len(stretch.lstrip())
            if stretch.strip():
                spans.append((line.start() + start + lead, line.start() + start + len(stretch.rstrip())))
    return spans


def sentences(text: str) -> list[str]:
    """The sentences of ``text`` in order."""
    return [text[start:end] for start, end in sentence_spans(text)]
