"""Measuring the annotator and the consistency check."""

from pydantic import Field

from schemas.params.base import Section


class PlantedErrors(Section):
    """How many errors are planted to measure the consistency check with."""

    each: int = Field(default=200, ge=1)  # of each kind
    rounds: int = Field(default=40, ge=1)  # times that the prompts are gone through until there are enough
