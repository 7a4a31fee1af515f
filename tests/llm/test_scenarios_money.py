"""Spending is booked at the right price, the cap holds, and nothing is spent on requests that must fail."""

from pathlib import Path
from typing import Any

import pytest

from schemas.errors import BudgetError, EndpointError
from schemas.params.llm import Budget, Price
from tests.support.hosted import Body, completion
from tests.support.scenarios import QUICK, Causes, Scenario, Verdict, refuses, says, unless

ONE = QUICK.model_copy(update={"concurrency": 1})


def test_a_reply_without_usage_is_booked_by_an_estimate_and_marked(tmp_path: Path) -> None:
    played = Scenario(says("He has a dry cough and no fever.", usage=None), calls=2).play(tmp_path)
    assert [row[3] for row in played.kept] == [1, 1]
    for _, prompt, reply, _ in played.kept:
        assert 5 <= prompt <= 60 and 7 <= reply <= 12
    booked = sum(row[1] * 1e-3 + row[2] * 2e-3 for row in played.kept)
    assert played.spent.dollars > booked > 0 and played.spent.calls == 3


def test_a_cap_holds_where_replies_give_no_usage(tmp_path: Path) -> None:
    played = Scenario(says("word " * 20, usage=None), calls=60, budget=Budget(dollars=1.0)).play(tmp_path)
    assert isinstance(played.error, BudgetError) and 0.5 < played.spent.dollars <= 1.2


@pytest.mark.parametrize("answering", ["big-1-0513", "big-1"])
def test_a_reply_is_priced_by_the_answering_model_if_it_has_a_price(tmp_path: Path, answering: str) -> None:
    prices = {"big-1": Price(prompt=1000, completion=2000), "big-1-0513": Price(prompt=3000, completion=6000)}

    def reply(body: Body, number: int) -> Body:
        return completion("x", body, model="big-1" if number == 0 else answering)

    played = Scenario(reply, calls=1, prices=prices, aliases=("big-1-0513",)).play(tmp_path)
    assert played.spent.dollars == pytest.approx(0.02 + (0.06 if answering == "big-1-0513" else 0.02))


def test_cached_prompt_tokens_have_a_price_of_their_own(tmp_path: Path) -> None:
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 8}}
    prices = {"big-1": Price(prompt=1000, completion=2000, cached=100)}
    played = Scenario(says("x", usage=usage), calls=1, prices=prices).play(tmp_path)
    assert played.spent.dollars == pytest.approx(2 * (2 * 1.0 + 8 * 0.1 + 5 * 2.0) / 1e3)


NO_CREDIT = {
    "402": refuses(402, "Payment required"),
    "429 of an exhausted quota": refuses(429, "You exceeded your current quota", code="insufficient_quota"),
    "429 whose type says so": refuses(429, "You exceeded your current quota", type="insufficient_quota"),
    "429 of a prepaid account": refuses(429, "Insufficient balance", code="insufficient_balance"),
}


@pytest.mark.parametrize("kind", NO_CREDIT)
def test_an_exhausted_account_stops_the_stage_at_once(tmp_path: Path, kind: str) -> None:
    def reply(body: Body, number: int) -> Any:
        return completion("x", body) if number < 3 else NO_CREDIT[kind]

    played = Scenario(reply, calls=50, sending=QUICK.model_copy(update={"retries": 8})).play(tmp_path)
    assert isinstance(played.error, EndpointError) and "add credit, then run again" in str(played.error)
    assert len(played.bodies) <= 3 + 4, "no retry, and nothing but what was in flight"
    assert len(played.kept) == 2


def test_a_busy_endpoint_is_not_taken_for_an_exhausted_account(tmp_path: Path) -> None:
    def reply(body: Body, number: int) -> Any:
        busy = refuses(429, "Rate limit reached for requests", code="rate_limit_exceeded")
        return busy if number % 3 == 1 else completion("x", body)

    played = Scenario(reply, calls=6, sending=QUICK.model_copy(update={"retries": 8})).play(tmp_path)
    assert all(answer.ok for answer in played.answers)


SETTINGS: dict[str, tuple[dict[str, Any], Any, str]] = {
    "json_schema": (
        {"structured": "json_schema"},
        unless(
            lambda body: body.get("response_format", {}).get("type") != "json_schema",
            refuses(400, "'response_format' of type 'json_schema' is not supported with this model"),
        ),
        "roles.writer.structured: auto",
    ),
    "max_tokens": (
        {},
        unless(
            lambda body: "max_tokens" not in body or "ready" in str(body["messages"]),
            refuses(400, "Unsupported parameter: 'max_tokens' is not supported", param="max_tokens"),
        ),
        "roles.writer.max_tokens_field: max_completion_tokens",
    ),
    "temperature": (
        {"temperature": 0.2},
        unless(
            lambda body: "ready" in str(body["messages"]),
            refuses(400, "Only the default (1) value is supported", param="temperature", code="unsupported_value"),
        ),
        "roles.writer.temperature: null",
    ),
    "seed": (
        {},
        unless(lambda body: "ready" in str(body["messages"]), refuses(422, "seed: Extra inputs are not permitted")),
        "roles.writer.send_seed: false",
    ),
    "an unknown field": (
        {"extra_body": {"top_k": 3}},
        unless(lambda body: "ready" in str(body["messages"]), refuses(400, "Unrecognized request argument: top_k")),
        "roles.writer.extra_body without 'top_k'",
    ),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_a_rejected_setting_stops_the_stage_and_is_named(tmp_path: Path, name: str) -> None:
    role, script, setting = SETTINGS[name]
    played = Scenario(script, calls=40, reply=Verdict, role=role).play(tmp_path)
    assert isinstance(played.error, EndpointError) and setting in str(played.error)
    assert len(played.sent) <= 4 and played.kept == []


def test_a_rejection_that_repeats_for_a_reason_unknown_stops_the_stage(tmp_path: Path) -> None:
    script = unless(lambda body: "ready" in str(body["messages"]), refuses(400, "Deployment 7 is in a bad mood"))
    played = Scenario(script, calls=200).play(tmp_path)
    assert isinstance(played.error, EndpointError) and "bad mood" in str(played.error)
    assert len(played.sent) <= 20 + 4


def test_rejections_of_content_fail_their_calls_however_many_follow_each_other(tmp_path: Path) -> None:
    filtered = refuses(400, "The response was filtered", code="content_filter", param="prompt")
    script = unless(lambda body: "hello 99" in str(body) or "ready" in str(body["messages"]), filtered)
    played = Scenario(script, calls=100).play(tmp_path)
    assert [answer.ok for answer in played.answers] == [False] * 99 + [True]
    assert not any(answer.lost for answer in played.answers)


def accepts(*ways: str) -> Any:
    """An endpoint that accepts these types of response_format ("none": requests without one)."""

    def reply(body: Body, _: int) -> Any:
        way = body.get("response_format", {"type": "none"})["type"]
        if way in ways or "ready" in str(body["messages"]):
            return completion('{"causes": ["asthma"]}', body)
        return refuses(400, f"response_format type {way} is unavailable", param="response_format")

    return reply


@pytest.mark.parametrize(("ways", "sent"), [(("json_schema",), 6), (("json_object", "none"), 12), (("none",), 18)])
def test_structured_auto_falls_back_to_a_form_that_the_endpoint_accepts(
    tmp_path: Path, ways: tuple[str, ...], sent: int
) -> None:
    played = Scenario(accepts(*ways), calls=6, reply=Causes).play(tmp_path, runs=2)
    assert all(answer.value == Causes(causes=["asthma"]) for answer in played.answers)
    assert len(played.sent) <= sent, "a few requests learn what is refused; a second run sends none"
    assert len(played.kept) == 6
