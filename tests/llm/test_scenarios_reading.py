"""Usable replies are read in any form, and no reply causes a crash."""

import json
from pathlib import Path
from typing import Any

import pytest
from starlette.responses import JSONResponse, Response

from tests.support.hosted import Body, completion
from tests.support.scenarios import Causes, Scenario, Script, Verdict, says

HOLDS = '{"holds": true, "sure": 3}'
YES = Verdict(holds=True, sure=3)


def parts(*texts: str) -> Script:
    return says([{"type": "text", "text": text} for text in texts])  # type: ignore[arg-type]


def with_reasoning(text: str) -> Script:
    def reply(body: Body, _: int) -> Body:
        answer = completion(text, body)
        answer["choices"][0]["message"]["reasoning_content"] = 'First {"holds": false}, but then'
        return answer

    return reply


READ: dict[str, tuple[Script, Any]] = {
    "content as a list of parts": (parts('{"holds": true,', ' "sure": 3}'), YES),
    "reasoning in a field of its own": (with_reasoning(HOLDS), YES),
    "reasoning between think tags": (says(f'<think>{{"holds": false}}?\nNo.</think>\n\n{HOLDS}'), YES),
    "reasoning whose opening tag is in the prompt": (says(f"It may not hold.</think>{HOLDS}"), YES),
    "a code fence": (says(f"```json\n{HOLDS}\n```"), YES),
    "prose around it": (says(f"The verdict is:\n{HOLDS}\nI hope that helps."), YES),
    "an extra key": (says('{"holds": true, "sure": 3, "because": "of the note"}'), YES),
    "numbers and booleans as strings": (says('{"holds": "true", "sure": "3"}'), YES),
    "a bare list for an object with one list": (says('["asthma", "a cold"]'), Causes(causes=["asthma", "a cold"])),
    "a bare list after prose": (says('The causes [1]:\n["asthma"]'), Causes(causes=["asthma"])),
    "numbers where strings were asked for": (says('{"causes": ["asthma", 2]}'), Causes(causes=["asthma", "2"])),
}


@pytest.mark.parametrize("name", READ)
def test_a_usable_reply_is_read_at_the_first_try(tmp_path: Path, name: str) -> None:
    script, value = READ[name]
    played = Scenario(script, reply=type(value), role={"structured": "json_schema"}).play(tmp_path)
    assert [answer.value for answer in played.answers] == [value] * 4
    assert len(played.sent) == 4, "nothing was asked twice"


def test_plain_text_loses_its_reasoning_and_fence_and_the_store_keeps_the_raw_reply(tmp_path: Path) -> None:
    from tasks.llm.store import ResponseStore

    said = "<think>Let me see.</think>\n```\nHistory: cough.\n```"
    played = Scenario(says(said), calls=1).play(tmp_path)
    assert played.answers[0].text == "History: cough."
    with ResponseStore(tmp_path / "responses.sqlite") as store:
        key = store.do_now(lambda c: c.execute("SELECT key FROM responses").fetchone())[0]
        assert "Let me see." in (store.find(key) or "")


def surrogate(body: Body, _: int) -> Response:
    """A lone surrogate, which UTF-8 cannot encode."""
    return Response(json.dumps(completion('{"holds": "\ud800"}', body)), media_type="application/json")


NOT_READ: dict[str, tuple[Script, str]] = {
    "brackets nested too deep": (says("[" * 5000 + "]" * 5000), "it"),
    "an integer of 6,000 digits": (says('{"holds": true, "sure": ' + "9" * 6000 + "}"), "sure"),
    "another kind of object": (says('{"verdict": "yes"}'), "holds: Field required"),
    "a lone surrogate": (surrogate, "holds"),
    "reasoning without an answer": (says("<think>Hm, let me think about"), "it was empty"),
}


@pytest.mark.parametrize("name", NOT_READ)
def test_an_unusable_reply_is_a_failure_after_every_restart(tmp_path: Path, name: str) -> None:
    script, reason = NOT_READ[name]
    scenario = Scenario(script, calls=2, reply=Verdict, role={"structured": "json_schema", "reasks": 1})
    played = scenario.play(tmp_path, runs=3)
    assert all(answer.failure and reason in answer.failure for answer in played.answers)
    assert not any(answer.lost for answer in played.answers), "its content is at fault: not to be retried"
    assert len(played.sent) == 4, "each call is asked twice in the first run, and never again"


def by_length(body: Body, _: int) -> Body:
    """A model that needs 40 tokens."""
    limit = body.get("max_tokens") or body.get("max_completion_tokens") or 0
    return completion("whole", body) if limit >= 40 else completion("who", body, finish="length")


def test_a_reply_cut_off_is_asked_once_more_with_twice_the_limit(tmp_path: Path) -> None:
    played = Scenario(by_length, calls=1).play(tmp_path)
    assert played.answers[0].text == "whole"
    assert [body["max_tokens"] for body in played.sent] == [20, 40]
    assert len(played.sent[1]["messages"]) == 1, "the same question, not a correction"


@pytest.mark.parametrize(("settings", "limits"), [({"max_tokens": 10}, [10, 20]), ({"max_tokens_limit": 20}, [20])])
def test_a_reply_cut_off_at_the_cap_is_a_failure_that_names_the_setting(
    tmp_path: Path, settings: dict[str, int], limits: list[int]
) -> None:
    played = Scenario(by_length, calls=1, role=settings).play(tmp_path)
    assert "cut off at the length limit; raise roles.writer.max_tokens" in (played.answers[0].failure or "")
    assert [body["max_tokens"] for body in played.sent] == limits


def test_a_longer_limit_that_the_model_refuses_fails_one_call_only(tmp_path: Path) -> None:
    def reply(body: Body, number: int) -> Any:
        if body["max_tokens"] > 20:
            return JSONResponse({"error": {"message": "max_tokens is too large", "param": "max_tokens"}}, 400)
        text = body["messages"][-1]["content"]
        return completion("who", body, finish="length") if "hello 1" in text else completion("whole", body)

    played = Scenario(reply, calls=3).play(tmp_path)
    assert [answer.ok for answer in played.answers] == [True, False, True]


def test_a_reply_cut_off_at_a_limit_of_the_endpoint_is_asked_once_more_with_twice_its_length(tmp_path: Path) -> None:
    def reply(body: Body, _: int) -> Any:
        return completion("whole", body) if "max_tokens" in body else completion("who", body, finish="length")

    played = Scenario(reply, calls=1, role={"max_tokens": None}).play(tmp_path)
    assert played.answers[0].text == "whole" and played.sent[-1]["max_tokens"] == 10
