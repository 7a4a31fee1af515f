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

    source: Literal["model", "published"] = "model"  # published: texts and spans are read from files
    published: Published = Published()
    max_tries: int = Field(default=3, ge=1, le=8)  # replies requested until one has the sections of a note


class Filter(Section):
    """Consistency check and regeneration."""

    max_attempts: int = Field(default=4, ge=1, le=8)  # notes written per record, including the first


class Export(Section):
    """The dataset: its validation split, and its metadata in card, Croissant and Zenodo files."""

    name: str = Field(default="vignette-notes", pattern=r"[A-Za-z0-9][A-Za-z0-9._-]*")  # also names the archive
    license: str = "CC-BY-4.0"  # SPDX identifier
    version: str = Field(default="1.0.0", pattern=r"[A-Za-z0-9][A-Za-z0-9._-]*")  # of the dataset
    url: str = "https://example.org/vignette-notes"  # where the dataset is published
    date_published: str | None = None  # ISO 8601; left out when null, since no clock is read
    creators: list[str] = Field(default_factory=list)  # "Family name, Given names"; Zenodo requires one
    validation_share: float = Field(default=0.1, gt=0, lt=1)  # of all records; test is the split of the predictors
