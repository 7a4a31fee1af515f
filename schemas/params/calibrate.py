"""Calibration of the judges."""

from pydantic import Field

from schemas.params.base import Section


class Calibrate(Section):
    """Number of planted cases on which the judge is measured."""

    notes: int = Field(default=100, ge=2)  # notes whose claims are used, changed and swapped
    facts: int = Field(default=3, ge=1)  # sentences removed from each note on purpose
    rounds: int = Field(default=4, ge=1)  # notes with planted errors by the simulator, per prompt
    nli_models: list[str] = Field(
        default_factory=list
    )  # names or folders of NLI models that judge the planted claims too
