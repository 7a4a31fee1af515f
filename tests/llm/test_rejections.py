"""Which setting a rejection names, and when rejections stop a stage."""

import email.utils
import time

import pytest

from schemas.params.llm import Role
from tasks.llm.replies import SendFailure
from tasks.transport import endpoint
from tasks.transport.rejections import REPEATS, Rejections, of_structure, setting_at_fault

ROLE = Role(base_url="http://x/v1", model="m", extra_body={"top_k": 5})


def rejected(reason: str, kind: str = "rejected", **fields: str) -> SendFailure:
    return SendFailure(kind, reason, **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("failure", "expected"),
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


@pytest.mark.parametrize(
    ("failure", "setting"),
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


def test_the_same_rejection_many_times_in_a_row_stops_the_stage() -> None:
    rejections = Rejections("judge", ROLE, "http://x/v1")
    for number in range(REPEATS - 1):
        assert rejections.rejected(rejected(f"request {number} is odd")) is None
    assert rejections.rejected(rejected("another reason")) is None
    for number in range(REPEATS - 1):
        assert rejections.rejected(rejected(f"request {number} is odd")) is None
    rejections.succeeded()
    for number in range(REPEATS - 1):
        assert rejections.rejected(rejected(f"request {number} is odd")) is None
    stopped = rejections.rejected(rejected("request 99 is odd"))
    assert stopped is not None and "role judge: http://x/v1 rejects the requests" in str(stopped)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after-ms": "1500", "retry-after": "7"}, 1.5),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "Thu, 01 Jan 1970 00:01:40 GMT"}, 0.0),
        ({"retry-after": "soon"}, None),
    ],
)
def test_an_endpoint_may_ask_for_a_pause_in_three_ways(headers: dict[str, str], seconds: float | None) -> None:
    assert endpoint._wait(headers) == seconds


def test_a_pause_until_a_date_lasts_from_now() -> None:
    date = email.utils.formatdate(time.time() + 100, usegmt=True)
    assert endpoint._wait({"retry-after": date}) == pytest.approx(100, abs=3)
