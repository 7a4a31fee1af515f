"""Scheduled probes and rebuilds."""

from datetime import datetime
from typing import Annotated

from cronsim import CronSim, CronSimError
from pydantic import AfterValidator, Field

from schemas.params.base import Section
from schemas.params.llm import Budget


def _check_cron(text: str) -> str:
    expected = 'expected five fields: minute, hour, day of month, month, day of week, such as "0 3 * * *"'
    if len(text.split()) != 5:
        raise ValueError(expected)
    try:
        CronSim(text, datetime(2000, 1, 1))
    except CronSimError as error:
        raise ValueError(f"{expected} ({error})") from error
    return text


class Watch(Section):
    """Schedule of probes, and budget of the rebuilds that they trigger."""

    every_seconds: int = Field(default=86400, gt=0)
    cron: Annotated[str, AfterValidator(_check_cron)] | None = None  # instead of every_seconds: "0 3 * * *"
    budget: Budget = Budget(ledger="watch")  # replaces the top-level budget in scheduled rebuilds
