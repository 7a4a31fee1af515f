"""An endpoint is given up after enough failures in a row over enough time; a pause holds until its end."""

import asyncio
import time

import pytest

from schemas.errors import EndpointError
from schemas.params.llm import Sending
from tasks.llm import limits
from tasks.llm.limits import Breaker, Pause


class Clock:
    """A clock that is set by hand."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.now = 100.0
        patch.setattr(limits.time, "monotonic", lambda: self.now)


def test_failures_in_a_row_over_too_long_a_time_stop_the_stage(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    breaker = Breaker(Sending(breaker_failures=3, breaker_s=10), "http://x/v1")
    breaker.failed("timeout")
    clock.now += 10
    breaker.failed("timeout")  # long enough, but only two
    with pytest.raises(EndpointError, match=r"http://x/v1 stays down: 3 failures in a row over 10 s, .*: HTTP 500"):
        breaker.failed("HTTP 500")


def test_an_answer_or_a_short_burst_does_not_stop_the_stage(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    breaker = Breaker(Sending(breaker_failures=3, breaker_s=10), "http://x/v1")
    for _ in range(5):
        breaker.failed("timeout")  # many, but at once
    breaker.succeeded()
    clock.now += 60
    for _ in range(3):
        breaker.failed("timeout")  # counted and timed anew
    clock.now += 9
    breaker.failed("timeout")
    clock.now += 1
    with pytest.raises(EndpointError, match="5 failures in a row over 10 s"):
        breaker.failed("timeout")


def test_the_longest_pause_counts() -> None:
    pause = Pause()
    pause.hold(0.15)
    pause.hold(0.01)
    begun = time.monotonic()
    asyncio.run(pause.over())
    assert 0.1 <= time.monotonic() - begun < 1
    begun = time.monotonic()
    asyncio.run(pause.over())
    assert time.monotonic() - begun < 0.1
