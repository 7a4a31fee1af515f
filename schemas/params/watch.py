"""Scheduled probes and rebuilds."""

from pydantic import Field

from schemas.params.base import Section
from schemas.params.llm import Budget


class Watch(Section):
    """When to probe the endpoints, and what a rebuild that a probe sets off may cost."""

    every_seconds: int = Field(default=86400, gt=0)
    cron: str | None = None  # instead of every_seconds: "0 3 * * *"
    budget: Budget = Budget(ledger="watch")  # stands in place of the top-level budget in scheduled rebuilds
