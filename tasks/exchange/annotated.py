"""An annotated text, the form that every exchange format is written from and read into."""

from collections.abc import Sequence
from dataclasses import dataclass

from schemas.errors import SourceError


@dataclass(frozen=True, order=True)
class LabelledSpan:
    """``label`` on the characters ``start`` (0-based) to ``end`` (exclusive), counted in Unicode code points."""

    start: int
    end: int
    label: str


@dataclass(frozen=True)
class AnnotatedText:
    """A text with its spans, sorted; spans may overlap, but not two of one label in the same place."""

    name: str
    text: str
    spans: tuple[LabelledSpan, ...]


def annotated(name: str, text: str, spans: Sequence[LabelledSpan]) -> AnnotatedText:
    """Sort and check. Raises SourceError naming the text and the span that is empty, outside it or repeated."""
    ordered = tuple(sorted(spans))
    for span in ordered:
        if not 0 <= span.start < span.end <= len(text):
            raise SourceError(
                f"{name}: span {span.start}-{span.end} ({span.label}) is empty or outside its text of "
                f"{len(text)} characters; correct its offsets"
            )
    if len(set(ordered)) < len(ordered):
        repeated = next(span for at, span in enumerate(ordered) if span in ordered[:at])
        raise SourceError(f"{name}: span {repeated.start}-{repeated.end} ({repeated.label}) is listed twice; keep one")
    return AnnotatedText(name, text, ordered)
