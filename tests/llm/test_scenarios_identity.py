"""No reply of another model is kept or used; keys go only to their host, and redaction leaves data unchanged."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from schemas.errors import EndpointError, IdentityError
from tasks.llm.store import ResponseStore, pack
from tests.support.hosted import Body, completion
from tests.support.scenarios import QUICK, Scenario, Script, refuses, says


def exchanged_after(number: int) -> Script:
    """Another model answers from the given request on."""
    return lambda body, n: completion("x", body, model="big-1" if n < number else "big-2")


@pytest.mark.parametrize("number", [0, 1, 3])
def test_a_model_exchanged_at_any_time_stops_the_stage_and_none_of_its_replies_is_kept(
    tmp_path: Path, number: int
) -> None:
    played = Scenario(exchanged_after(number), calls=30).play(tmp_path)
    assert isinstance(played.error, IdentityError) and "answered is 'big-2', recorded is 'big-1'" in str(played.error)
    assert len(played.kept) == max(0, number - 1)
    assert len(played.sent) <= number + 4, "nothing but what was in flight is sent after it"
    assert played.spent.calls == len(played.bodies), "the replies that are not kept are paid for and booked"


def test_a_reply_of_another_model_is_not_used_after_a_restart(tmp_path: Path) -> None:
    by_run: dict[str, str] = {}

    def reply(body: Body, number: int) -> Body:
        text = body["messages"][-1]["content"]
        seen = text in by_run
        by_run[text] = "big-1" if seen or "hello 1" not in text else "big-2"
        return completion(f"by {by_run[text]}", body, model=by_run[text])

    played = Scenario(reply, calls=2).play(tmp_path, runs=2)
    assert [answer.text for answer in played.answers] == ["by big-1", "by big-1"]


def test_a_wrong_reply_kept_by_an_earlier_version_is_deleted_and_asked_for_again(tmp_path: Path) -> None:
    def spoil() -> None:
        with ResponseStore(tmp_path / "responses.sqlite") as store:
            key = store.do_now(lambda c: c.execute("SELECT key FROM responses").fetchone())[0]
            wrong = json.dumps(completion("wrong", {"model": "big-2"}))
            sql = "UPDATE responses SET reply = ? WHERE key = ?"
            store.do_now(lambda c: c.execute(sql, (pack(wrong), key)).rowcount)

    def reply(body: Body, number: int) -> Body:
        return completion(f"reply {number}", body)

    played = Scenario(reply, calls=1, between_runs=spoil).play(tmp_path, runs=2)
    assert played.answers[0].text == "reply 3"


def test_an_alias_in_the_fingerprint_is_the_same_model(tmp_path: Path) -> None:
    played = Scenario(exchanged_after(2), calls=6, aliases=("big-2",)).play(tmp_path)
    assert all(answer.ok for answer in played.answers)
    assert {row[0] for row in played.kept} == {"big-1", "big-2"}


def test_a_reply_without_a_model_is_not_taken_for_the_recorded_one(tmp_path: Path) -> None:
    played = Scenario(lambda body, n: completion("x", body, model="big-1" if n == 0 else None)).play(tmp_path)
    assert isinstance(played.error, IdentityError) and played.kept == []


SECRET = "sk-very-secret-123456"
HOSTED_KEY = QUICK.model_copy(update={"api_key_env": "HOSTED_KEY"})


@pytest.mark.parametrize("key", ["none", "test", SECRET])
def test_a_key_never_changes_a_reply(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    monkeypatch.setenv("HOSTED_KEY", key)
    said = f"the test shows none of {SECRET}"
    played = Scenario(says(said), sending=HOSTED_KEY).play(tmp_path)
    assert {answer.text for answer in played.answers} == {said}
    assert {headers["authorization"] for headers in played.headers} == {f"Bearer {key}"}


@pytest.mark.parametrize(
    ("settings", "said"),
    [({}, "bad key [redacted]"), ({"query": {"sig": SECRET}}, "bad key [redacted]")],
)
def test_a_key_is_redacted_in_errors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: dict[str, Any], said: str
) -> None:
    monkeypatch.setenv("HOSTED_KEY", SECRET)
    played = Scenario(lambda *_: refuses(401, f"bad key {SECRET}"), role=settings, sending=HOSTED_KEY).play(tmp_path)
    assert isinstance(played.error, EndpointError)
    assert SECRET not in str(played.error) and said in str(played.error)


def test_another_host_than_openais_gets_no_key_unless_one_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.setenv(name, SECRET)
    played = Scenario(says("x")).play(tmp_path)
    assert all(answer.ok for answer in played.answers)
    assert not any(SECRET in value for headers in played.headers for value in headers.values())


@pytest.mark.parametrize(
    ("variable", "hint"),
    [
        (None, "name the variable that holds it in runtime.sending.<role>.api_key_env"),
        ("GONE", "variable GONE is not"),
    ],
)
def test_a_missing_key_is_named_by_its_setting(tmp_path: Path, variable: str | None, hint: str) -> None:
    sending = QUICK.model_copy(update={"api_key_env": variable})
    played = Scenario(lambda *_: refuses(401, "no key"), sending=sending).play(tmp_path)
    assert re.search(hint, str(played.error))
