"""An annotated text, the form that every exchange format is written from and read into.

Tokens that no span cuts in two, for formats whose unit is the token.
"""

import itertools
import re
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


_PIECES = re.compile(r"\w+|[^\w\s]|\s+")


def token_bounds(one: AnnotatedText) -> list[tuple[int, int]]:
    """Bounds of consecutive tokens that cover the whole text: words, marks and white space.

    A token is cut wherever a span begins or ends within it, so that spans of any characters survive.
    """
    cuts = {place for span in one.spans for place in (span.start, span.end)}
    bounds = []
    for match in _PIECES.finditer(one.text):
        places = [match.start(), *sorted(c for c in cuts if match.start() < c < match.end()), match.end()]
        bounds += list(itertools.pairwise(places))
    return bounds
