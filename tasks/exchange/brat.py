"""brat standoff (brat.nlplab.org/standoff.html): a ``.txt`` and an ``.ann`` file for each text.

Offsets are code points. A text-bound annotation may not hold a line break, so a span over several lines is written as
fragments, one a line; read back, fragments with nothing but line breaks between them are one span again.
"""

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence

from schemas.errors import SourceError
from tasks.exchange.annotated import AnnotatedText, LabelledSpan, annotated

_TEXT_BOUND = re.compile(r"(T\d+)\t(\S+) (\d+ \d+(?:;\d+ \d+)*)\t(.*)")
_BREAKS = re.compile(r"[\r\n]+")


def write_brat(texts: Sequence[AnnotatedText]) -> dict[str, str]:
    """Contents by file name, ``annotation.conf`` included. Labels are written with ``_`` for spaces."""
    labels = sorted({_brat_label(span.label) for text in texts for span in text.spans})
    files = {"annotation.conf": "\n".join(["[entities]", *labels, "[relations]", "[events]", "[attributes]", ""])}
    for one in texts:
        lines = [_line(number, span, one.text) for number, span in enumerate(one.spans, 1)]
        files[f"{one.name}.txt"] = one.text
        files[f"{one.name}.ann"] = "".join(lines)
    return files


def read_brat(files: Mapping[str, str], labels: Sequence[str]) -> list[AnnotatedText]:
    """Texts by name with their text-bound annotations; other annotations are ignored.

    ``labels`` are those known, in their own spelling. Raises SourceError naming file and line for what cannot be read.
    """
    spelt = {_brat_label(label): label for label in labels}
    found = []
    for name in sorted(name.removesuffix(".txt") for name in files if name.endswith(".txt")):
        if f"{name}.ann" not in files:
            raise SourceError(f"{name}.txt has no {name}.ann in its folder; add an empty file if nothing is annotated")
        text = files[f"{name}.txt"]
        spans = [_span(line, number, name, text, spelt) for number, line in _text_bound(files[f"{name}.ann"])]
        found.append(annotated(name, text, spans))
    return found


def _line(number: int, span: LabelledSpan, text: str) -> str:
    parts = list(_fragments(span, text))
    places = ";".join(f"{start} {end}" for start, end in parts)
    words = " ".join(text[start:end] for start, end in parts)
    return f"T{number}\t{_brat_label(span.label)} {places}\t{words}\n"


def _fragments(span: LabelledSpan, text: str) -> Iterator[tuple[int, int]]:
    start = span.start
    for line_break in _BREAKS.finditer(text, span.start, span.end):
        if line_break.start() > start:
            yield start, line_break.start()
        start = line_break.end()
    if start < span.end:
        yield start, span.end


def _text_bound(annotations: str) -> list[tuple[int, str]]:
    lines = enumerate(annotations.split("\n"), 1)
    return [(number, line) for number, line in lines if line.startswith("T")]


def _span(line: str, number: int, name: str, text: str, spelt: Mapping[str, str]) -> LabelledSpan:
    where = f"{name}.ann, line {number}"
    match = _TEXT_BOUND.fullmatch(line)
    if match is None:
        raise SourceError(f"{where}: found {line!r}, expected 'T1<tab>label start end<tab>text'")
    if match[2] not in spelt:
        raise SourceError(f"{where}: label {match[2]!r} is not one of {', '.join(sorted(spelt))}")
    parts = [tuple(int(n) for n in part.split()) for part in match[3].split(";")]
    for (_, end), (start, _) in itertools.pairwise(parts):
        if _BREAKS.fullmatch(text[end:start]) is None:
            raise SourceError(f"{where}: the span has a gap {text[end:start]!r}; spans of notes are unbroken")
    start, end = parts[0][0], parts[-1][1]
    words = " ".join(text[one:other] for one, other in parts)
    if words != match[4]:
        raise SourceError(f"{where}: the text at {start}-{end} is {words!r}, the file says {match[4]!r}")
    return LabelledSpan(start, end, spelt[match[2]])


def _brat_label(label: str) -> str:
    return label.replace(" ", "_")
