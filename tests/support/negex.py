"""NegEx as implemented by negspacy on spaCy, as a baseline for the simulator's negation scopes."""

from collections.abc import Sequence
from functools import lru_cache

import spacy
from negspacy.negation import Negex  # noqa: F401  (registers the component "negex")
from spacy.language import Language
from spacy.util import filter_spans

from tasks.simulator.clinical.findings import Finding


@lru_cache(maxsize=1)
def _pipeline() -> Language:
    """A pipeline of tokenizer, sentence splitter and NegEx."""
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    nlp.add_pipe("negex")
    return nlp


def denied(text: str, found: Sequence[Finding]) -> list[bool | None]:
    """Whether NegEx considers each finding denied; None for a finding that does not align with spaCy's tokens."""
    nlp = _pipeline()
    doc = nlp.get_pipe("sentencizer")(nlp.make_doc(text))
    spans = [doc.char_span(f.start, f.end, label="FINDING", alignment_mode="expand") for f in found]
    doc.ents = filter_spans([span for span in spans if span is not None])
    doc = nlp.get_pipe("negex")(doc)
    said = {(ent.start, ent.end): bool(ent._.negex) for ent in doc.ents}
    return [said.get((span.start, span.end)) if span is not None else None for span in spans]
