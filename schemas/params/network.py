"""Params of the network's stages: number of records, fitting, bootstrap draws."""

from typing import Literal

from pydantic import Field

from schemas.params.base import Section

OptimiserName = Literal["newton", "adam"]


class Adam(Section):
    """SimSUM's optimiser settings (Appendix F.1)."""

    noisy_or_epochs: int = Field(default=10, gt=0)  # for noisy-OR tables
    regression_epochs: int = Field(default=15, gt=0)  # for logistic and Poisson regressions
    batch_size: int = Field(default=50, gt=0)  # records of a step
    learning_rate: float = Field(default=0.01, gt=0)  # of Adam


class Fit(Section):
    """Fitting of noisy-OR, logistic and Poisson parameters. Tables are always counts with a K2 prior."""

    optimiser: OptimiserName = "newton"  # finds the exact optimum; "adam" is the paper's
    adam: Adam = Adam()


class Sample(Section):
    """Drawing records."""

    records: int = Field(default=1000, gt=0)  # records of the default run


class Network(Section):
    """Fitting the network to its own records: recovery of the parameters, and the effect of the treatment."""

    fit: Fit = Fit()
    draws: int = Field(default=1000, ge=100)  # bootstrap draws behind each interval
    held_out: int = Field(default=10000, gt=0)  # fresh records that fitted networks are compared on


class NetworkPublished(Section):
    """The network at the published size."""

    records: int = Field(default=10000, gt=0)  # the published size
    replicates: int = Field(default=1000, ge=100)  # samples behind the tolerance of the published counts
