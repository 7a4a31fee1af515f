"""spaCy's DocBin: spans in the span group "sc", where they may overlap. The only importer of spaCy."""

from collections.abc import Sequence
from typing import Any

from schemas.errors import SourceError
from tasks.exchange.annotated import AnnotatedText, LabelledSpan, annotated
from tasks.exchange.tokens import token_bounds

GROUP = "sc"
"""The key that spaCy's span categorizer uses by default."""


def write_docbin(texts: Sequence[AnnotatedText]) -> bytes:
    """All texts with their names in ``user_data``. Raises SourceError where spaCy is not installed."""
    spacy = _spacy()
    vocabulary = spacy.blank("en").vocab
    docs = spacy.tokens.DocBin(store_user_data=True)
    for one in texts:
        bounds = token_bounds(one)
        doc = spacy.tokens.Doc(vocabulary, [one.text[s:e] for s, e in bounds], [False] * len(bounds))
        doc.spans[GROUP] = [doc.char_span(span.start, span.end, label=span.label) for span in one.spans]
        doc.user_data["name"] = one.name
        docs.add(doc)
    return bytes(docs.to_bytes())


def read_docbin(content: bytes) -> list[AnnotatedText]:
    """Texts of a DocBin. Raises SourceError where it cannot be read or a document has no name."""
    spacy = _spacy()
    try:
        docs = list(spacy.tokens.DocBin().from_bytes(content).get_docs(spacy.blank("en").vocab))
    except Exception as error:  # spaCy passes on whatever zlib, msgpack and numpy raise
        raise SourceError(f"not a readable DocBin ({error}); expected a file written by `vignette exchange`") from error
    return [_text(doc, at) for at, doc in enumerate(docs)]


def _text(doc: Any, at: int) -> AnnotatedText:
    name = doc.user_data.get("name")
    if not isinstance(name, str):
        raise SourceError(f"document {at} of the DocBin has no name; keep user_data when you rewrite it")
    group = doc.spans.get(GROUP, [])
    return annotated(name, doc.text, [LabelledSpan(s.start_char, s.end_char, s.label_) for s in group])


def _spacy() -> Any:
    try:
        import spacy
        import spacy.tokens
    except ImportError as error:
        raise SourceError("spaCy is not installed; install it with: pip install -e '.[spacy]'") from error
    return spacy
