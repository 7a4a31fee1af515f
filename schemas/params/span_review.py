"""The manual evaluation of spans."""

from pydantic import Field

from schemas.params.base import Section


class SpanReview(Section):
    """Size of the form on which a reader marks wrong and missing phrases (SimSUM, Section 2.3: 100 notes)."""

    notes: int = Field(default=100, ge=1)  # records, each with its normal and compact note
