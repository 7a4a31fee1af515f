"""Params of the report page and of the record in MLflow."""

from pydantic import Field

from schemas.params.base import Section


class Report(Section):
    """The HTML page."""

    notes: int = Field(default=200, ge=0)  # notes in the browser, records of every prompt kind among them


class Record(Section):
    """The lineage written to MLflow."""

    experiment: str = "vignette"  # name of the MLflow experiment
