"""Limits on sending: requests and tokens a minute, for all processes that use a store."""

import asyncio
import sys
import time

import sqlalchemy as sa

from tasks.transport.database import rates, upsert
from tasks.transport.store import ResponseStore

LONGEST_SET_BACK_S = 60.0
"""Seconds by which a clock may be set back and the units taken since then still count."""


class Rate:
    """At most ``per_minute`` units a minute, spread evenly, for every process that uses the store under ``name``.

    A caller waits until the units taken before it are used up; the time when the next one is free is kept in the store.
    """

    def __init__(self, store: ResponseStore, name: str, per_minute: int | None) -> None:
        self._store, self._name = store, name
        self._seconds_a_unit = 60.0 / per_minute if per_minute else 0.0

    async def take(self, units: float) -> float:
        """Wait until ``units`` more may be used; returns since when they may, in seconds since 1970."""
        if not self._seconds_a_unit:
            return 0.0
        now = time.time()
        start, clock_was_set_back = await self._store.do(lambda connection: self._advance(connection, units, now))
        if clock_was_set_back:
            message = f"{self._name}: the clock was set back, so the limit a minute is counted from now on"
            print(message, file=sys.stderr)
        await asyncio.sleep(max(0.0, start - time.time()))
        return float(start)

    async def give_back(self, units: float) -> None:
        """Return units that were taken and not used (negative: more were used)."""
        if self._seconds_a_unit and units:
            earlier = {"free_at": rates.c.free_at - units * self._seconds_a_unit}
            await self._store.run(sa.update(rates).where(rates.c.name == self._name).values(earlier))

    def _advance(self, connection: sa.Connection, units: float, now: float) -> tuple[float, bool]:
        """Move the time when the next unit is free by ``units``; returns when these units may be used.

        Units taken later than now were taken before the clock was set back: after more than a minute, they count no
        more. The second value is true then.
        """
        row = connection.execute(sa.select(rates.c.free_at, rates.c.taken_at).where(rates.c.name == self._name)).first()
        free_at, taken_at = row or (0.0, 0.0)
        clock_was_set_back = taken_at > now + LONGEST_SET_BACK_S
        start = now if clock_was_set_back else max(now, free_at)
        moved = {"name": self._name, "free_at": start + units * self._seconds_a_unit, "taken_at": now}
        connection.execute(_MOVE, moved)
        return start, clock_was_set_back


_MOVE = upsert(rates, free_at="excluded.free_at", taken_at="excluded.taken_at")
