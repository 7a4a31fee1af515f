"""An annotated text, the form that every exchange format is written from and read into."""

from collections.abc import Sequence
from dataclasses import dataclass

from schemas.errors import SourceError, repeated
from schemas.tables.records import ASSERTIONS


@dataclass(frozen=True, order=True)
class LabelledSpan:
    """``label`` on the characters ``start`` (0-based) to ``end`` (exclusive), counted in Unicode code points.

    ``assertion`` is what the text asserts of it (`schemas.tables.records.ASSERTIONS`), empty where nobody stated it.
    """

    start: int
    end: int
    label: str
    assertion: str = ""

    @property
    def place(self) -> tuple[int, int, str]:
        """What no two spans of a text share."""
        return self.start, self.end, self.label


@dataclass(frozen=True)
class AnnotatedText:
    """A text with its spans, sorted; spans may overlap, but not two of one label in the same place."""

    name: str
    text: str
    spans: tuple[LabelledSpan, ...]


def annotated(name: str, text: str, spans: Sequence[LabelledSpan]) -> AnnotatedText:
    """Sort and check.

    Raises SourceError naming the text and the span that is empty, outside it, repeated or asserts an unknown word.
    """
    ordered = tuple(sorted(spans))
    for span in ordered:
        if not 0 <= span.start < span.end <= len(text):
            raise SourceError(
                f"{name}: span {span.start}-{span.end} ({span.label}) is empty or outside its text of "
                f"{len(text)} characters; correct its offsets"
            )
        if span.assertion not in ("", *ASSERTIONS):
            raise SourceError(
                f"{name}: span {span.start}-{span.end} ({span.label}) asserts {span.assertion!r}; "
                f"expected one of {', '.join(ASSERTIONS)}"
            )
    if twice := repeated(span.place for span in ordered):
        start, end, label = twice
        raise SourceError(f"{name}: span {start}-{end} ({label}) is listed twice; keep one")
    return AnnotatedText(name, text, ordered)
