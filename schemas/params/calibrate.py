"""Calibration of the judges."""

from pydantic import Field

from schemas.params.base import Section


class Calibrate(Section):
    """How much is planted to measure the judge with."""

    notes: int = Field(default=100, ge=2)  # notes that claims are taken from, changed and swapped between
    facts: int = Field(default=3, ge=1)  # sentences removed from each note on purpose
    rounds: int = Field(default=4, ge=1)  # notes with planted errors that the embedded writer writes for each prompt
