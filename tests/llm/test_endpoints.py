"""Replies and errors as real endpoints send them: read with the right value, or refused with the reason."""

import json
from pathlib import Path
from typing import Any

import httpx2 as httpx
import openai
import pytest
from starlette.responses import JSONResponse, Response

from schemas.errors import EndpointError
from tasks.llm.calls import Reply
from tasks.llm.replies import Completion, SendFailure, Unusable, read_completion, read_reply
from tasks.transport.endpoint import failure_of
from tests.support.cases import from_table
from tests.support.hosted import completion, hosted
from tests.support.scenarios import Scenario, but_for_greeting, look, says


class Pairs(Reply):
    """Pairs of phrases."""

    pairs: list[str]
    note: str = ""


def replied(message: dict[str, Any], finish: str | None = "stop") -> Completion:
    return read_completion(json.dumps({"model": "m", "choices": [{"message": message, "finish_reason": finish}]}))


@from_table
def test_what_a_reply_says(content: object, answer: str) -> None:
    found = replied({"content": content})
    read_reply(found, None)
    assert found.text == answer


@from_table
def test_why_a_text_cannot_be_used(message: dict[str, Any], finish: str, reason: str) -> None:
    with pytest.raises(Unusable) as caught:
        read_reply(replied(message, finish), None)
    assert reason in str(caught.value)


@from_table
def test_a_whole_reply_ends_by_documented_names(finish: str | None) -> None:
    read_reply(replied({"content": "Dry."}, finish), None)


@from_table
def test_json_of_several_values(text: str, pairs: list[str] | None) -> None:
    if pairs is None:
        with pytest.raises(Unusable, match=r"given twice|stops half way"):
            read_reply(replied({"content": text}), Pairs)
    else:
        assert read_reply(replied({"content": text}), Pairs).pairs == pairs  # type: ignore[union-attr]


def test_a_reply_that_an_error_broke_off_is_no_reply() -> None:
    choice = {"message": {"content": "Dr"}, "finish_reason": None, "error": {"code": 502, "message": "line lost"}}
    with pytest.raises(SendFailure, match="the reply was broken off: 'line lost'") as caught:
        read_completion(json.dumps({"model": "m", "choices": [choice]}))
    assert caught.value.may_pass


def test_a_block_before_json_needs_no_known_name() -> None:
    for json_too in ("", '{"pairs": ["a"]}'):
        text = f'<plan_first>\n{json_too}\n</plan_first>\n{{"pairs": ["b"]}}'
        assert read_reply(replied({"content": text}), Pairs) == Pairs(pairs=["b"])


LONG = range(30)
"""Documents that are refused before the others are asked about."""


@from_table
def test_a_request_that_is_refused_for_its_text_fails_alone(tmp_path: Path, status: int, body: dict[str, Any]) -> None:
    """Thirty long documents before three short ones: the three are answered."""

    def reply(request: dict[str, Any], _: int) -> Any:
        said = request["messages"][-1]["content"]
        is_long = said.startswith("hello") and int(said.split()[1]) in LONG
        return JSONResponse(body, status) if is_long else completion("fine", request)

    Scenario(reply, 33, ok=3, failure="HTTP|in place of a reply", sent=33).play(tmp_path)


@from_table
def test_a_request_that_is_refused_for_another_reason_stops_the_run(tmp_path: Path, status: int, body: Any) -> None:
    def reply(request: dict[str, Any], _: int) -> Any:
        is_greeting = "ready" in request["messages"][-1]["content"]
        return completion("fine", request) if is_greeting else JSONResponse(body, status)

    Scenario(reply, 33, error="EndpointError").play(tmp_path)


@from_table
def test_a_model_is_identified_by_its_reply_where_no_list_shows_it(tmp_path: Path, status: int, body: Any) -> None:
    with hosted(says("fine")) as endpoint:
        endpoint.models_reply = Response(body, status) if isinstance(body, str) else JSONResponse(body, status)
        seen = look(endpoint, tmp_path)
    assert seen.greeting.model == "big-1" and seen.entry.get("id") in (None, "big-1")


def test_an_endpoint_that_takes_no_more_requests_is_not_said_to_be_gone(tmp_path: Path) -> None:
    with (
        hosted(lambda *_: JSONResponse({"error": {"message": "Rate limit reached"}}, 429)) as endpoint,
        pytest.raises(EndpointError, match=r"takes no more requests: HTTP 429: .*; wait, or lower rpm and concurrency"),
    ):
        look(endpoint, tmp_path)


def test_an_endpoint_that_answers_with_a_page_is_named_at_once(tmp_path: Path) -> None:
    """A login page or one of a proxy, with status 200; later in a run, such a page is a failure that may pass."""
    page = Response("\n<!DOCTYPE html><title>Sign in</title>", media_type="text/html")
    with hosted(lambda *_: page) as endpoint:
        with pytest.raises(EndpointError, match=rf"{endpoint.base_url} answers with HTML, not JSON: .*Sign in.*/v1"):
            look(endpoint, tmp_path)
        assert len(endpoint.bodies) == 1
    once = but_for_greeting(lambda body, number: page if number == 1 else completion("fine", body))
    (tmp_path / "later").mkdir()
    Scenario(once, 3, sent=4).play(tmp_path / "later")


def test_a_connection_that_breaks_without_words_is_named_by_what_broke_it() -> None:
    """As of https at a port of http, where the outer errors say nothing."""
    error = openai.APIConnectionError(request=httpx.Request("POST", "https://127.0.0.1/v1"))
    error.__cause__ = httpx.ConnectError("")
    error.__cause__.__context__ = ConnectionResetError(104, "Connection reset by peer")
    said = failure_of(error, "/chat/completions", None).reason
    assert said == "connection failed (ConnectError: [Errno 104] Connection reset by peer)"
