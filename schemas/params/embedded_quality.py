"""Params of the stages that measure the embedded writer."""

from pydantic import Field

from schemas.params.base import Section


class EmbeddedQuality(Section):
    """The embedded writer against its own truth, and against real notes where they are at hand."""

    records: int = Field(default=1000, gt=0)
    published_records: int = Field(default=10000, gt=0)
    draws: int = Field(default=8, gt=0)  # samples as large as the set of real notes
