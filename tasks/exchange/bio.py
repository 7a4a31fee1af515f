"""CoNLL columns with BIO tags: token, start, end, and one tag column a label, so that labels may overlap.

Tags follow Ramshaw and Marcus 1995 (B begins a span, I continues it, O is outside) with the span's assertion after a
hyphen: B-absent, I-absent; without one where nobody stated it. A comment line holds the text as
JSON, which makes reading back exact; to a reader that skips comments and takes one tag column it is plain CoNLL.

spaCy's DocBin: spans in the span group "sc", where they may overlap, each with its assertion as ``id_``. The only
importer of spaCy.
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from schemas.errors import SourceError
from tasks.exchange.annotated import AnnotatedText, LabelledSpan, annotated, token_bounds

_NAME, _TEXT, _COLUMNS = "# name = ", "# text = ", "# columns = "


def write_bio(texts: Sequence[AnnotatedText], labels: Sequence[str]) -> str:
    """All texts in one file, a blank line after each.

    A label has a second column where two of its spans overlap, since a tag holds one span.
    """
    return "\n".join(_write_block(one, labels) for one in texts)


def read_bio(content: str) -> list[AnnotatedText]:
    """Texts as `write_bio` wrote them. Raises SourceError naming text and line for what cannot be read."""
    blocks = [block.split("\n") for block in content.rstrip("\n").split("\n\n") if block]
    return [_read_block(block) for block in blocks]


def _write_block(one: AnnotatedText, labels: Sequence[str]) -> str:
    bounds = [(start, end) for start, end in token_bounds(one) if not one.text[start:end].isspace()]
    columns = [(label, layer) for label in labels for layer in _layers(one, label)]
    tags = [_tags(layer, bounds) for _, layer in columns]
    rows = []
    for at, (start, end) in enumerate(bounds):
        rows.append("\t".join([one.text[start:end], str(start), str(end), *(tag[at] for tag in tags)]))
    named = json.dumps([label for label, _ in columns], ensure_ascii=False)
    head = [_NAME + one.name, _TEXT + json.dumps(one.text, ensure_ascii=False), _COLUMNS + named]
    return "\n".join([*head, *rows]) + "\n"


def _layers(one: AnnotatedText, label: str) -> list[list[LabelledSpan]]:
    """The spans of a label, dealt to the first layer whose last span ends before them; at least one layer."""
    layers: list[list[LabelledSpan]] = [[]]
    for span in one.spans:
        if span.label != label:
            continue
        free = next((layer for layer in layers if not layer or layer[-1].end <= span.start), None)
        if free is None:
            layers.append([span])
        else:
            free.append(span)
    return layers


def _tags(spans: Sequence[LabelledSpan], bounds: Sequence[tuple[int, int]]) -> list[str]:
    tags = {}
    for span in spans:
        kind = f"-{span.assertion}" if span.assertion else ""
        for start, _ in bounds:
            if span.start <= start < span.end:
                tags[start] = ("B" if start == span.start else "I") + kind
    return [tags.get(start, "O") for start, _ in bounds]


def _read_block(lines: Sequence[str]) -> AnnotatedText:
    heads = {
        head: line[len(head) :] for line in lines[:3] for head in (_NAME, _TEXT, _COLUMNS) if line.startswith(head)
    }
    if len(heads) < 3:
        raise SourceError(f"a block begins with {lines[0]!r}; expected lines '# name', '# text' and '# columns'")
    name, text, labels = heads[_NAME], json.loads(heads[_TEXT]), json.loads(heads[_COLUMNS])
    rows = [line.split("\t") for line in lines[3:]]
    for row in rows:
        if len(row) != 3 + len(labels) or text[int(row[1]) : int(row[2])] != row[0]:
            raise SourceError(f"{name}: row {row} does not fit its text and the columns {labels}")
    spans = [span for at, label in enumerate(labels, 3) for span in _spans(rows, at, label, name)]
    return annotated(name, text, spans)


def _spans(rows: Sequence[Sequence[str]], column: int, label: str, name: str) -> list[LabelledSpan]:
    found: list[LabelledSpan] = []
    previous = "O"
    for row in rows:
        tag, _, assertion = row[column].partition("-")
        if tag not in ("B", "I", "O") or (tag == "I" and previous not in (f"B-{assertion}", f"I-{assertion}")):
            raise SourceError(f"{name}: tag {row[column]!r} of {row[0]!r} is no BIO tag of {label} in its place")
        if tag == "B":
            found.append(LabelledSpan(int(row[1]), int(row[2]), label, assertion))
        elif tag == "I":
            found[-1] = replace(found[-1], end=int(row[2]))
        previous = f"{tag}-{assertion}"
    return found


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
        doc.spans[GROUP] = [
            doc.char_span(span.start, span.end, label=span.label, span_id=span.assertion) for span in one.spans
        ]
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
    return annotated(name, doc.text, [LabelledSpan(s.start_char, s.end_char, s.label_, s.id_) for s in group])


def _spacy() -> Any:
    try:
        import spacy
        import spacy.tokens
    except ImportError as error:
        raise SourceError("spaCy is not installed; install it with: pip install -e '.[spacy]'") from error
    return spacy
