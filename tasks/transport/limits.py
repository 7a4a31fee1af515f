"""Limits on sending: requests in flight, requests and tokens a minute, pauses that the endpoint asked for."""

import asyncio
import sys
import time
from collections import deque

import sqlalchemy as sa

from schemas.errors import EndpointError
from schemas.params.llm import Sending
from tasks.transport.database import rates, upsert
from tasks.transport.store import ResponseStore

FIRST_WIDTH = 8
CUT_EVERY_S = 1.0
LONGEST_SET_BACK_S = 60.0
"""Seconds by which a clock may be set back and the units taken since then still count."""


class Width:
    """The most requests in flight, adapted to the endpoint's capacity.

    Grows by one with each success until it is first pushed back, from then on by one a round, and shrinks to 0.7 of
    itself when pushed back (additive increase, multiplicative decrease, as in TCP congestion control, RFC 5681).
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.width = float(min(FIRST_WIDTH, most))
        self._threshold = float(most)
        self._in_flight = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._last_cut = float("-inf")

    async def enter(self) -> None:
        """Wait for a place."""
        if self._in_flight < int(self.width) and not self._waiting:
            self._in_flight += 1
            return
        place = asyncio.get_running_loop().create_future()
        self._waiting.append(place)
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():
                self.leave()
            raise

    def leave(self) -> None:
        """Free the place."""
        self._in_flight -= 1
        while self._waiting and self._in_flight < int(self.width):
            place = self._waiting.popleft()
            if not place.done():
                self._in_flight += 1
                place.set_result(None)

    def grow(self) -> None:
        """Note a success."""
        step = 1.0 if self.width < self._threshold else 1.0 / self.width
        self.width = min(float(self.most), self.width + step)

    def shrink(self) -> None:
        """Note that the endpoint pushed back; at most one cut a second, since requests in flight fail together."""
        now = time.monotonic()
        if now - self._last_cut >= CUT_EVERY_S:
            self._last_cut = now
            self.width = self._threshold = max(1.0, self.width * 0.7)


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


class Pause:
    """Holds all requests back until the time that the endpoint asked for."""

    def __init__(self) -> None:
        self._until = 0.0

    def hold(self, seconds: float) -> None:
        """Send nothing for ``seconds`` from now."""
        self._until = max(self._until, time.monotonic() + seconds)

    async def over(self) -> None:
        """Wait until requests may leave."""
        while (left := self._until - time.monotonic()) > 0:
            await asyncio.sleep(left)


class Breaker:
    """Stops the stage when an endpoint stays down: too many failures in a row, over too long a time."""

    def __init__(self, sending: Sending, address: str) -> None:
        self._sending, self._address = sending, address
        self._failures, self._since = 0, 0.0

    def succeeded(self) -> None:
        """Note that the endpoint answered."""
        self._failures = 0

    def failed(self, reason: str) -> None:
        """Note a failure; raises EndpointError when the endpoint is taken to be down."""
        now = time.monotonic()
        if self._failures == 0:
            self._since = now
        self._failures += 1
        lasted = now - self._since
        if self._failures >= self._sending.breaker_failures and lasted >= self._sending.breaker_s:
            raise EndpointError(
                f"{self._address} stays down: {self._failures} failures in a row over {lasted:.0f} s, "
                f"the last one: {reason}. Every reply so far is kept; run again when it is back"
            )
