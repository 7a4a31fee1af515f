"""Params of the baselines (SimSUM, Section 3.2 and Appendix F)."""

from typing import Literal

from pydantic import Field

from schemas.params.base import Device, Section
from schemas.params.network import Fit

GridName = Literal["published", "quick"]
TextDeviation = Literal["normalised sentences", "whole note without span", "unscaled inputs"]
"""How SimSUM's released code differs from its text (Appendix F.3) or from our choices where the text is silent."""


class XgboostTab(Section):
    """The grid search of Appendix F.2."""

    grid: GridName = "quick"  # "published": 1,296 combinations; "quick": 72 of them
    folds: int = Field(default=5, ge=2)  # of the cross-validation
    verify: int = Field(default=24, ge=1)  # refit at most this many of the best combinations plainly


class Schedule(Section):
    """Training schedule of a neural classifier."""

    epochs: int = Field(gt=0)  # passes over the train records
    learning_rate: float = Field(gt=0)  # of Adam


class Neural(Section):
    """The neural classifiers of Appendices F.3 and F.4."""

    hidden: int = Field(default=256, gt=0)  # units of the hidden layer
    batch_size: int = Field(default=100, gt=0)  # rows of a step
    weight_decay: float = Field(default=1e-5, ge=0)  # L2 penalty of Adam
    precision: Literal["float32", "bfloat16"] = (
        "float32"  # of large matrix products; bfloat16 if the processor supports it
    )
    least_rows: int = Field(default=2400, gt=0)  # with fewer train rows, more epochs for the same number of steps
    two_values: Schedule = Schedule(epochs=15, learning_rate=1e-3)
    more_values: Schedule = Schedule(epochs=30, learning_rate=5e-4)  # symptoms with levels, which collapse more easily
    as_released: list[TextDeviation] = Field(default=[])  # deviations of SimSUM's released code to follow


class Baselines(Section):
    """Shared settings of the baselines, and a section for each."""

    test_share: float = Field(default=0.2, gt=0, lt=1)  # of the records
    seeds: list[int] = Field(default=[0, 1, 2, 3, 4], min_length=1)  # training seeds of the neural classifiers
    processes: int = Field(default=2, gt=0)  # train at once; changes no result
    device: Device = "cpu"  # of the neural classifiers; auto: a GPU if there is one, with other last bits
    draws: int = Field(default=1000, ge=100)  # bootstrap draws behind each interval
    bins: int = Field(default=10, gt=1)  # bins of reliability curves and of the calibration error
    network: Fit = Fit()
    xgboost: XgboostTab = XgboostTab()
    neural: Neural = Neural()
    calibration_folds: int = Field(default=5, ge=2)  # of bn-text: out-of-fold predictions to calibrate the text model


class BaselinesPublished(Section):
    """The tabular baselines on new draws of the published size (reproduction of Table 5)."""

    records: int = Field(default=10000, gt=0)  # the published size
    replicates: int = Field(default=20, ge=20)  # draws of records and split
    level: float = Field(default=0.99, gt=0, lt=1)  # of the prediction interval of one draw
