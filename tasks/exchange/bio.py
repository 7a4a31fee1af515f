"""CoNLL columns with BIO tags: token, start, end, and one tag column a label, so that labels may overlap.

Tags follow Ramshaw and Marcus 1995 (B begins a span, I continues it, O is outside). A comment line holds the text as
JSON, which makes reading back exact; to a reader that skips comments and takes one tag column it is plain CoNLL.
"""

import json
from collections.abc import Sequence

from schemas.errors import SourceError
from tasks.exchange.annotated import AnnotatedText, LabelledSpan, annotated
from tasks.exchange.tokens import token_bounds

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
        for start, _ in bounds:
            if span.start <= start < span.end:
                tags[start] = "B" if start == span.start else "I"
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
        tag = row[column]
        if tag not in ("B", "I", "O") or (tag == "I" and previous == "O"):
            raise SourceError(f"{name}: tag {tag!r} of {row[0]!r} after {previous!r} is no BIO tag of {label}")
        if tag == "B":
            found.append(LabelledSpan(int(row[1]), int(row[2]), label))
        elif tag == "I":
            found[-1] = LabelledSpan(found[-1].start, int(row[2]), label)
        previous = tag
    return found
