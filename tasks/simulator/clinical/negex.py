"""NegEx as negspacy has it, run on spaCy: the peer that our own scopes are measured beside.

Its term set is ours too; its scope (up to a terminating word) is what does not serve on notes, see `negation`.
"""

from collections.abc import Sequence
from functools import lru_cache

import spacy
from negspacy.negation import Negex  # noqa: F401  (registers the component "negex")
from spacy.language import Language
from spacy.util import filter_spans

from tasks.simulator.clinical.findings import Finding


@lru_cache(maxsize=1)
def _pipeline() -> Language:
    """Words and sentences; NegEx itself waits for the findings."""
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    nlp.add_pipe("negex")
    return nlp


def denied(text: str, found: Sequence[Finding]) -> list[bool | None]:
    """Whether NegEx takes each finding as denied; None for one whose place does not fall on spaCy's tokens."""
    nlp = _pipeline()
    doc = nlp.get_pipe("sentencizer")(nlp.make_doc(text))
    spans = [doc.char_span(f.start, f.end, label="FINDING", alignment_mode="expand") for f in found]
    doc.ents = filter_spans([span for span in spans if span is not None])
    doc = nlp.get_pipe("negex")(doc)
    said = {(ent.start, ent.end): bool(ent._.negex) for ent in doc.ents}
    return [said.get((span.start, span.end)) if span is not None else None for span in spans]
