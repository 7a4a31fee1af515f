"""Scheduled probes and rebuilds."""

from datetime import datetime
from typing import Annotated, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cronsim import CronSim, CronSimError
from pydantic import AfterValidator, Field

from schemas.params.base import Section
from schemas.params.llm import Budget

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

    command: list[str] | None = None  # gets the outcome on its standard input
    webhook_env: str | None = None  # variable with the address to post to; addresses hold secrets
    outcomes: list[OutcomeState] = Field(default_factory=lambda: list(_NOTIFIED))  # notified outcomes


class Watch(Section):
    """Schedule of probes, the branch that is rebuilt, and the budget of rebuilds."""

    every_seconds: int = Field(default=86400, gt=0)  # between rounds
    cron: Annotated[str, AfterValidator(_check_cron)] | None = None  # instead of every_seconds: "0 3 * * *"
    timezone: Annotated[str, AfterValidator(_check_zone)] = "UTC"  # of cron and of budget_period
    branch: str | None = None  # the branch to rebuild, such as main or origin/main; null: the one checked out
    lineages: str = "lineages"  # branch on which each new lineage is committed
    push: bool = True  # dvc push each new lineage
    git_remote: str | None = None  # push the branch of lineages and its tags there: origin
    budget: Budget = Budget(ledger="watch")  # replaces the top-level budget in scheduled rebuilds
    budget_period: Literal["day", "week", "month"] | None = None  # the budget holds for each; null: for ever
    notify: Notify = Notify()

    def budget_at(self, now: datetime) -> Budget:
        """The budget for the period of ``now`` (with a time zone): each period has its own ledger."""
        local = now.astimezone(ZoneInfo(self.timezone))
        periods = {"day": "%Y-%m-%d", "week": "%G-W%V", "month": "%Y-%m"}
        if self.budget_period is None:
            return self.budget
        ledger = f"{self.budget.ledger} {local.strftime(periods[self.budget_period])}"
        return self.budget.model_copy(update={"ledger": ledger})
