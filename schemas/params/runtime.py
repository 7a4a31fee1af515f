"""How stages run, and where outside data lies; the watch, the report, and the record in MLflow."""

from datetime import datetime
from typing import Annotated, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cronsim import CronSim, CronSimError
from pydantic import AfterValidator, Field

from schemas.params.base import Section
from schemas.params.llm import Budget, RoleName, Sending


class Runtime(Section):
    """Chunks and limits. None of them changes the outputs, except `instruction_set`, which changes last digits."""

    chunk_rows: int = Field(default=250, gt=0)
    """Rows of a table that one task takes."""
    max_unscored_share: float = Field(default=0.05, ge=0, le=1)
    """Above it, a stage fails."""
    stages_at_once: int = Field(default=2, gt=0)
    """Stages that `vignette repro` runs side by side."""
    instruction_set: Literal["avx2", "native"] = "avx2"
    """avx2: the same bytes on all x86-64 processors; native: all that this one has, with other last digits."""
    store: str | None = None
    """Of replies: "postgresql+psycopg://user@host/database"; null: .vignette/responses.sqlite."""
    accept_lost_calls: bool = False
    """Finish a stage although calls failed on the way (timeouts, server errors)."""
    dask: str | None = None
    """"local", or a scheduler's address: run chunks on a Dask cluster."""
    dask_workers: int = Field(default=2, gt=0)
    """Processes of the local cluster."""
    sending: dict[RoleName, Sending] = Field(default_factory=dict)
    """By role; defaults for the others."""


class Sources(Section):
    """Folders of outside data; null if not available."""

    folder: str | None = None
    """SOURCES on make's command line overrides."""


OutcomeState = Literal["unchanged", "would rebuild", "rebuilt", "failed", "skipped"]
_NOTIFIED: tuple[OutcomeState, ...] = ("rebuilt", "failed")


def _check_cron(text: str) -> str:
    expected = 'expected five fields: minute, hour, day of month, month, day of week, such as "0 3 * * *"'
    if len(text.split()) != 5:
        raise ValueError(expected)
    try:
        CronSim(text, datetime(2000, 1, 1))
    except CronSimError as error:
        raise ValueError(f"{expected} ({error})") from error
    return text


def _check_zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise ValueError('expected a time zone of the IANA database, such as "Europe/Brussels"') from error
    return name


class Notify(Section):
    """Notification of outcomes as JSON: state, roles, detail, lineage."""

    command: list[str] | None = None
    """Gets the outcome on its standard input."""
    outcomes: list[OutcomeState] = Field(default_factory=lambda: list(_NOTIFIED))
    """Notified outcomes."""


class Watch(Section):
    """Schedule of probes, the branch that is rebuilt, and the budget of rebuilds."""

    every_seconds: int = Field(default=86400, gt=0)
    """Between rounds."""
    cron: Annotated[str, AfterValidator(_check_cron)] | None = None
    """Instead of every_seconds: "0 3 * * *"."""
    timezone: Annotated[str, AfterValidator(_check_zone)] = "UTC"
    """Of cron and of budget_period."""
    branch: str | None = None
    """The branch to rebuild, such as main or origin/main; null: the one checked out."""
    lineages: str = "lineages"
    """Branch on which each new lineage is committed."""
    push: bool = True
    """Dvc push each new lineage."""
    git_remote: str | None = None
    """Push the branch of lineages and its tags there: origin."""
    budget: Budget = Budget(ledger="watch")
    """Replaces the top-level budget in scheduled rebuilds."""
    budget_period: Literal["day", "week", "month"] | None = None
    """The budget holds for each; null: for ever."""
    notify: Notify = Notify()

    def budget_at(self, now: datetime) -> Budget:
        """The budget for the period of ``now`` (with a time zone): each period has its own ledger."""
        local = now.astimezone(ZoneInfo(self.timezone))
        periods = {"day": "%Y-%m-%d", "week": "%G-W%V", "month": "%Y-%m"}
        if self.budget_period is None:
            return self.budget
        ledger = f"{self.budget.ledger} {local.strftime(periods[self.budget_period])}"
        return self.budget.model_copy(update={"ledger": ledger})


class Report(Section):
    """The HTML page."""

    notes: int = Field(default=200, ge=0)
    """Notes in the browser, records of every prompt kind among them."""
    patients: int = Field(default=3, ge=0)
    """Patients over time, shown beside their summaries."""


class Record(Section):
    """The lineage written to MLflow."""

    experiment: str = "vignette"
    """Name of the MLflow experiment."""
