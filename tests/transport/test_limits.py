"""Rates hold for all who share a store; what an endpoint rejects, and how long it asks to wait, is read."""

import asyncio
import email.utils
import time
from pathlib import Path

import pytest

from schemas.params.llm import Role
from tasks.llm.replies import SendFailure
from tasks.transport import endpoint, limits
from tasks.transport.endpoint import of_structure, setting_at_fault
from tasks.transport.limits import Rate
from tasks.transport.store import ResponseStore
from tests.support.cases import each, from_table


class Clock:
    """A clock that is set by hand, and the seconds that were slept, without waiting."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.now, self.slept = 1_000_000.0, list[float]()
        for name in ("monotonic", "time"):
            patch.setattr(limits.time, name, lambda: self.now)
        patch.setattr(limits.asyncio, "sleep", self.sleep)

    async def sleep(self, seconds: float) -> None:
        self.slept.append(round(seconds, 6))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def test_units_are_spread_evenly_over_the_minute_and_given_back(tmp_path: Path, clock: Clock) -> None:
    clock.now = 1000.0
    with ResponseStore(tmp_path / "s.sqlite") as store:
        rate = Rate(store, "tokens", 30)  # one unit in two seconds

        async def take(*units: float) -> list[float]:
            return [await rate.take(one) for one in units]

        assert asyncio.run(take(1, 3, 1)) == [1000, 1002, 1008]
        assert clock.slept == [0, 2, 8]
        asyncio.run(rate.give_back(2))  # free again at 1010 - 4
        asyncio.run(rate.give_back(0))
        assert asyncio.run(take(1)) == [1006]
        clock.now = 2000.0
        assert asyncio.run(take(1, 1)) == [2000, 2002], "units that nobody took are not saved up"
        assert asyncio.run(Rate(store, "requests", 30).take(1)) == 2000, "each name has its own units"


@pytest.mark.parametrize(("set_back_s", "waits_s", "is_said"), [(86_400, 0, True), (50, 52, False)])
def test_a_clock_set_back_costs_at_most_a_minute_and_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], clock: Clock, set_back_s: int, waits_s: int, is_said: bool
) -> None:
    with ResponseStore(tmp_path / "s.sqlite") as store:
        rate = Rate(store, "requests", 30)
        asyncio.run(rate.take(1))
        clock.now -= set_back_s
        asyncio.run(rate.take(1))
        asyncio.run(rate.take(1))
    assert clock.slept == [0, waits_s, waits_s + 2]
    assert ("requests: the clock was set back" in capsys.readouterr().err) == is_said


ROLE = Role(base_url="http://x/v1", model="m", extra_body={"top_k": 5})


def rejected(reason: str, kind: str = "rejected", **fields: str) -> SendFailure:
    return SendFailure(kind, reason, **fields)  # type: ignore[arg-type]


@each(
    "failure, expected",
    [
        (rejected("json_schema is not supported"), True),
        (rejected("bad value", param="response_format.type"), True),
        (rejected("bad value", param="temperature"), False),
        (rejected("json_schema is not supported", kind="busy"), False),
        (rejected("the content_filter found harm in json_schema", code="content_filter"), False),
    ],
)
def test_only_a_rejection_of_the_way_of_asking_is_of_structure(failure: SendFailure, expected: bool) -> None:
    assert of_structure(failure) is expected


@each(
    "failure, setting",
    [
        (rejected("bad", param="temperature"), "temperature: null"),
        (rejected("Unsupported parameter: seed"), "send_seed: false"),
        (rejected("bad", param="top_k"), "extra_body without 'top_k'"),
        (rejected("bad", param="max_tokens"), "max_tokens_field: max_completion_tokens"),
        (rejected("guided decoding is off"), "structured: auto"),
        (rejected("bad", param="messages"), None),
        (rejected("something is wrong with the seed"), None),
    ],
)
def test_the_setting_at_fault_is_named(failure: SendFailure, setting: str | None) -> None:
    found = setting_at_fault(failure, ROLE)
    assert found is None if setting is None else found is not None and found.startswith(setting)


@from_table
def test_an_endpoint_may_ask_for_a_pause_in_three_ways(headers: dict[str, str], seconds: float | None) -> None:
    assert endpoint._wait(headers) == seconds


def test_a_pause_until_a_date_lasts_from_now() -> None:
    date = email.utils.formatdate(time.time() + 100, usegmt=True)
    assert endpoint._wait({"retry-after": date}) == pytest.approx(100, abs=3)
