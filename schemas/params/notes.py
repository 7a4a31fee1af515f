"""Writing, filtering and compacting notes."""

from typing import Literal

from pydantic import Field

from schemas.params.base import Section


class Published(Section):
    """Files in SimSUM's published layout, used when ``write.source`` is ``published``."""

    notes: str | None = None  # SimSUM.csv
    normal_spans: str | None = None  # normal_span_annotations.json
    compact_spans: str | None = None  # adv_span_annotations.json
    sha256: str | None = None  # of the files' contents together; pins what the results were made from


class Write(Section):
    """Source of the first notes."""

    source: Literal["model", "published"] = "model"
    published: Published = Published()
    max_tries: int = Field(default=3, ge=1, le=8)  # replies requested until one has the sections of a note


class Filter(Section):
    """Consistency check and regeneration."""

    max_attempts: int = Field(default=4, ge=1, le=8)  # notes written per record, including the first


class Export(Section):
    """Contents of the dataset card."""

    name: str = "vignette-notes"
    license: str = "CC-BY-4.0"
    version: str = "1.0.0"
    url: str = "https://example.org/vignette-notes"  # where the dataset is published
    date_published: str | None = None  # ISO 8601; left out when null, since no clock is read
