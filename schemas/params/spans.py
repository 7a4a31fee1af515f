"""Span extraction."""

from pydantic import Field

from schemas.params.base import Section


class Span(Section):
    """How phrases that do not stand in the note are corrected."""

    max_corrections: int = Field(default=1, ge=0, le=4)  # times that the correction question is put
