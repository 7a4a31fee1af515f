"""Span extraction."""

from pydantic import Field

from schemas.params.base import Section


class Span(Section):
    """Correction of phrases that do not occur in the note."""

    max_corrections: int = Field(default=1, ge=0, le=4)  # number of correction questions per phrase
