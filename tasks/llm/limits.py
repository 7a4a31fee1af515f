"""How fast requests may leave: how many at once, how many and how many tokens a minute, and when not at all."""

import asyncio
import time
from collections import deque

from schemas.errors import EndpointError
from schemas.params.llm import Sending

FIRST_WIDTH = 8
CUT_EVERY_S = 1.0


class Width:
    """How many requests are in flight at most: adapts to what the endpoint bears.

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
        """Give the place back."""
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
    """At most so many units a minute, spread evenly: whoever comes waits until the units before it are used up."""

    def __init__(self, per_minute: int | None) -> None:
        self._seconds_a_unit = 60.0 / per_minute if per_minute else 0.0
        self._free_at = 0.0

    async def take(self, units: float) -> None:
        """Wait until ``units`` more may be used."""
        if not self._seconds_a_unit:
            return
        now = time.monotonic()
        start = max(now, self._free_at)
        self._free_at = start + units * self._seconds_a_unit
        if start > now:
            await asyncio.sleep(start - now)

    def give_back(self, units: float) -> None:
        """Return units that were taken and not used (negative: more were used)."""
        self._free_at -= units * self._seconds_a_unit


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
