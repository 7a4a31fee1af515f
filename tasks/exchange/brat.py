"""brat standoff (brat.nlplab.org/standoff.html): a ``.txt`` and an ``.ann`` file for each text.

Offsets are code points. A text-bound annotation may not hold a line break, so a span over several lines is written as
fragments, one a line; read back, fragments with nothing but line breaks between them are one span again.

A span's assertion is its attribute ``Assertion``.
"""

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence

from schemas.errors import SourceError
from schemas.tables.records import ASSERTIONS
from tasks.exchange.annotated import AnnotatedText, LabelledSpan, annotated

_TEXT_BOUND = re.compile(r"(T\d+)\t(\S+) (\d+ \d+(?:;\d+ \d+)*)\t(.*)")
ATTRIBUTE = "Assertion"
_ASSERTED = re.compile(rf"A\d+\t{ATTRIBUTE} (T\d+) (\S+)\s*")
_KINDS = "TREAMN#*"
"""First characters of the lines of annotations, of all kinds that brat has."""
_BREAKS = re.compile(r"[\r\n]+")


def write_brat(texts: Sequence[AnnotatedText]) -> dict[str, str]:
    """Contents by file name, ``annotation.conf`` included. Labels are written with ``_`` for spaces."""
    labels = sorted({_brat_label(span.label) for text in texts for span in text.spans})
    values = "|".join(_brat_label(assertion) for assertion in ASSERTIONS)
    attribute = f"{ATTRIBUTE}\tArg:<ENTITY>, Value:{values}"
    heads = ["[entities]", *labels, "[relations]", "[events]", "[attributes]", attribute, ""]
    files = {"annotation.conf": "\n".join(heads)}
    for one in texts:
        lines = [_line(number, span, one.text) for number, span in enumerate(one.spans, 1)]
        stated = [(number, _brat_label(span.assertion)) for number, span in enumerate(one.spans, 1) if span.assertion]
        lines += [f"A{number}\t{ATTRIBUTE} T{number} {assertion}\n" for number, assertion in stated]
        files[f"{one.name}.txt"] = one.text
        files[f"{one.name}.ann"] = "".join(lines)
    return files


def read_brat(files: Mapping[str, str], labels: Sequence[str]) -> tuple[list[AnnotatedText], list[str]]:
    """Texts by name with their text-bound annotations and assertions, and the type of each annotation not read.

    ``labels`` are those known, in their own spelling. Raises SourceError naming file and line for what cannot be read.
    """
    spelt = {_brat_label(label): label for label in labels}
    found, unread = list[AnnotatedText](), list[str]()
    for name in sorted({name[:-4] for name in files if name.endswith((".txt", ".ann"))}):
        if f"{name}.ann" not in files:
            raise SourceError(f"{name}.txt has no {name}.ann in its folder; add an empty file if nothing is annotated")
        if f"{name}.txt" not in files:
            raise SourceError(f"{name}.ann has no {name}.txt in its folder; add the text, or remove the file")
        text, lines = files[f"{name}.txt"], _lines(name, files[f"{name}.ann"])
        stated = _stated(name, lines)
        others = [line for _, line in lines if line[0] != "T" and not _ASSERTED.fullmatch(line)]
        unread += [" ".join(line.partition("\t")[2].split()[:1]) for line in others]
        spans = [_span(line, number, name, text, spelt, stated) for number, line in lines if line.startswith("T")]
        found.append(annotated(name, text, spans))
    return found, unread


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


def _lines(name: str, annotations: str) -> list[tuple[int, str]]:
    """The annotations with the numbers of their lines. Raises SourceError for what is none, or has an id twice."""
    numbered = enumerate(annotations.replace("\r\n", "\n").split("\n"), 1)
    lines, seen = [(number, line) for number, line in numbered if line.strip()], set[str]()
    for number, line in lines:
        one = line.partition("\t")[0]
        if line[0] not in _KINDS or (one in seen and one != "*"):
            raise SourceError(f"{name}.ann, line {number}: found {line!r}, expected an annotation, each id once")
        seen.add(one)
    return lines


def _stated(name: str, lines: Sequence[tuple[int, str]]) -> dict[str, str]:
    """What spans assert, by id. Raises SourceError for an assertion that is not one of one span."""
    spans, found = {line.partition("\t")[0] for _, line in lines}, dict[str, str]()
    for number, line in lines:
        if line[0] == "A" and f"\t{ATTRIBUTE}".lower() in line.lower():
            match = _ASSERTED.fullmatch(line)
            if match is None or match[1] not in spans or match[1] in found:
                expected = f"expected 'A1<tab>{ATTRIBUTE} T1 value' of a span that is there, once for each"
                raise SourceError(f"{name}.ann, line {number}: found {line!r}, {expected}")
            found[match[1]] = match[2].replace("_", " ")
    return found


def _span(
    line: str, number: int, name: str, text: str, spelt: Mapping[str, str], stated: Mapping[str, str]
) -> LabelledSpan:
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
    return LabelledSpan(start, end, spelt[match[2]], stated.get(match[1], ""))


def _brat_label(label: str) -> str:
    return "_".join(label.split())  # a line break would begin another annotation
