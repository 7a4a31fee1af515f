"""Params of the measurement of the annotator and the consistency check."""

from pydantic import Field

from schemas.params.base import Section


class PlantedErrors(Section):
    """Number of planted errors on which the consistency check is measured."""

    each: int = Field(default=200, ge=1)  # of each kind
    rounds: int = Field(default=40, ge=1)  # passes over the prompts until there are enough errors
