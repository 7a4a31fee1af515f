"""From records to spans: sampling and fitting the network, writing and filtering notes, extraction, export."""

from typing import Annotated, Literal

from pydantic import Field

from schemas.params.base import NAME, Section

OptimiserName = Literal["newton", "adam"]


class Adam(Section):
    """SimSUM's optimiser settings (Appendix F.1)."""

    noisy_or_epochs: int = Field(default=10, gt=0)
    """For noisy-OR tables."""
    regression_epochs: int = Field(default=15, gt=0)
    """For logistic and Poisson regressions."""
    batch_size: int = Field(default=50, gt=0)
    """Records of a step."""
    learning_rate: float = Field(default=0.01, gt=0)
    """Of Adam."""


class Fit(Section):
    """Fitting of noisy-OR, logistic and Poisson parameters. Tables are always counts with a K2 prior."""

    optimiser: OptimiserName = "newton"
    """Finds the exact optimum; "adam" is the paper's."""
    adam: Adam = Adam()


class Sample(Section):
    """Drawing records."""

    records: int = Field(default=1000, gt=0)
    """Records of the default run."""


class Visits(Section):
    """Patients with several visits, drawn from the network over time."""

    patients: int = Field(default=40, ge=0)
    """With 1 to ``most`` visits."""
    most: int = Field(default=8, ge=1, le=99)
    """Visits of a patient."""
    another: float = Field(default=0.85, ge=0, le=1)
    """Probability of another visit after each one, below ``most``."""
    long_visits: list[Annotated[int, Field(ge=1, le=99)]] = Field(default=[20, 22, 46, 48])
    """Visits of further patients, one number for each; their notes are long inputs."""


class Network(Section):
    """Fitting the network to its own records: recovery of the parameters, and the effect of the treatment."""

    fit: Fit = Fit()
    draws: int = Field(default=1000, ge=100)
    """Bootstrap draws behind each interval."""
    held_out: int = Field(default=10000, gt=0)
    """Fresh records that fitted networks are compared on."""


class NetworkPublished(Section):
    """The network at the published size."""

    records: int = Field(default=10000, gt=0)
    """The published size."""
    replicates: int = Field(default=1000, ge=100)
    """Samples behind the tolerance of the published counts."""


class Published(Section):
    """Files in SimSUM's published layout, used when ``write.source`` is ``published``."""

    notes: str | None = None
    """SimSUM.csv."""
    normal_spans: str | None = None
    """normal_span_annotations.json."""
    compact_spans: str | None = None
    """adv_span_annotations.json."""
    sha256: str | None = None
    """Of the files' contents together; pins what the results were made from."""


class Prompting(Section):
    """Choices of the prompts for notes."""

    nothing_to_mention: Literal["paper", "other_complaint"] = "paper"
    """The prompt of a patient with symptoms, none of which is to be mentioned. ``paper``: as any other, without the
    list of symptoms to mention. ``other_complaint``: it asks for a complaint outside the domain."""


class Write(Section):
    """Source of the first notes."""

    source: Literal["model", "published"] = "model"
    """published: texts and spans are read from files."""
    published: Published = Published()
    max_tries: int = Field(default=3, ge=1, le=8)
    """Replies requested until one has the sections of a note."""


class Filter(Section):
    """Consistency check and regeneration."""

    max_attempts: int = Field(default=4, ge=1, le=8)
    """Notes written per record, including the first."""


class Export(Section):
    """The dataset: its validation split, and the metadata in its card."""

    name: str = Field(default="vignette-notes", pattern=NAME)
    """Of the dataset."""
    license: str = "CC-BY-4.0"
    """SPDX identifier."""
    version: str = Field(default="1.0.0", pattern=NAME)
    """Of the dataset."""
    url: str = "https://example.org/vignette-notes"
    """Where the dataset is published."""
    date_published: str | None = None
    """ISO 8601; left out when null, since no clock is read."""
    creators: list[str] = Field(default_factory=list)
    """"Family name, Given names"."""
    validation_share: float = Field(default=0.1, gt=0, lt=1)
    """Of all records; test is the split of the predictors."""


class Span(Section):
    """Correction of phrases that do not occur in the note."""

    max_corrections: int = Field(default=1, ge=0, le=4)
    """Number of correction questions per phrase."""
