"""Params of the stages that measure the simulator's writer."""

from pydantic import Field

from schemas.params.base import Section


class EmbeddedQuality(Section):
    """The simulator's writer compared with its truth, and with real notes if available."""

    records: int = Field(default=1000, gt=0)  # simulated notes that are compared
    published_records: int = Field(default=10000, gt=0)  # the same in the second pipeline
    draws: int = Field(default=8, gt=0)  # samples, each as large as the set of real notes
