"""The client never pays twice for a reply, and every failure is returned as a failure."""

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest
from starlette.responses import JSONResponse, Response

from schemas.errors import EndpointError, IdentityError
from schemas.params.llm import Role, Sending
from tasks.evaluation.med_omit.replies import Omissions
from tasks.llm.calls import Answer, Call, Message, Reply
from tasks.llm.fingerprint import Fingerprint
from tasks.llm.requests import make_request
from tasks.llm.store import ResponseStore
from tests.support.endpoints import QUICK, asker, chat, embedded, journal_lines
from tests.support.hosted import Body, completion, hosted


class Verdict(Reply):
    """Whether a claim holds."""

    holds: bool


ROLE = Role(base_url="http://hosted.example/v1", model="big-1")


def fingerprint(base_url: str, **more: str) -> Fingerprint:
    identity = {"endpoint": base_url, "asked": "big-1", "answered": "big-1", "owner": "acme"} | more
    return Fingerprint("writer", identity)


def ask(
    base_url: str, folder: Path, calls: list[Call], *, role: Role = ROLE, sending: Sending = QUICK, **more: object
) -> list[Answer]:
    async def run() -> list[Answer]:
        settings = role.model_copy(update={"base_url": base_url})
        recorded = more.pop("fingerprint", None) or fingerprint(base_url)
        with ResponseStore(folder / "responses.sqlite") as store:
            async with asker(store, base_url, role=settings, sending=sending, fingerprint=recorded, **more) as asking:
                return await asking(calls)

    return asyncio.run(run())


def echo(body: Body, number: int) -> Body:
    return completion(f"said {body['messages'][-1]['content']}", body)


def work_bodies(bodies: list[Body]) -> list[Body]:
    """Requests other than the check of identity."""
    return [body for body in bodies if "ready" not in body["messages"][-1]["content"]]


def test_answers_are_in_the_order_of_calls(tmp_path: Path) -> None:
    async def slow_first(body: Body) -> Body:
        await asyncio.sleep(0.05 if "hello 0" in body["messages"][-1]["content"] else 0)
        return echo(body, 0)

    with hosted(lambda body, _: slow_first(body)) as endpoint:
        answers = ask(endpoint.base_url, tmp_path, [chat(n) for n in range(20)])
    assert [answer.text for answer in answers] == [f"said hello {n}" for n in range(20)]
    assert [answer.key for answer in answers] == [f"{n}/test" for n in range(20)]


def test_an_answered_call_is_never_sent_again(tmp_path: Path) -> None:
    with hosted(echo) as endpoint:
        first = ask(endpoint.base_url, tmp_path, [chat(n) for n in range(5)])
        again = ask(endpoint.base_url, tmp_path, [chat(n) for n in range(7)])
        assert len(work_bodies(endpoint.bodies)) == 7
    assert again[:5] == first


def test_answers_are_read_from_the_store_without_an_endpoint(tmp_path: Path) -> None:
    with hosted(echo) as endpoint:
        first = ask(endpoint.base_url, tmp_path, [chat(1)])
    assert ask(endpoint.base_url, tmp_path, [chat(1)]) == first


def test_another_sample_model_setting_or_epoch_is_another_request(tmp_path: Path) -> None:
    with hosted(echo) as endpoint:
        url, call = endpoint.base_url, chat(1)
        ask(url, tmp_path, [call])
        ask(url, tmp_path, [Call(call.key, call.messages, sample=1)])
        ask(url, tmp_path, [call], role=ROLE.model_copy(update={"temperature": 0.3}))
        later = Fingerprint("writer", fingerprint(url).identity, epoch=1)
        ask(url, tmp_path, [call], fingerprint=later)
        sent = work_bodies(endpoint.bodies)
    assert len(sent) == 4
    assert [body["seed"] for body in sent] == [0, 1, 0, 0]


def test_identical_calls_in_flight_are_sent_once(tmp_path: Path) -> None:
    async def slow(body: Body) -> Body:
        await asyncio.sleep(0.1)
        return echo(body, 0)

    with hosted(lambda body, _: slow(body)) as endpoint:
        answers = ask(endpoint.base_url, tmp_path, [chat(1)] * 12)
        assert len(work_bodies(endpoint.bodies)) == 1
    assert len({answer.text for answer in answers}) == 1


def test_an_invalid_reply_is_asked_again_with_its_problem(tmp_path: Path) -> None:
    def reply(body: Body, number: int) -> Body:
        asked_again = len(body["messages"]) > 1
        return completion('{"holds": true}' if asked_again else '{"holds": "perhaps"}', body)

    with hosted(reply) as endpoint:
        (answer,) = ask(endpoint.base_url, tmp_path, [chat(1, reply=Verdict)])
        again = endpoint.bodies[-1]["messages"]
    assert answer.value == Verdict(holds=True)
    assert [message["role"] for message in again] == ["user", "assistant", "user"]
    assert again[1]["content"] == '{"holds": "perhaps"}'
    assert "holds: Input should be a valid boolean" in again[2]["content"]


def test_a_reply_that_names_an_unknown_id_is_asked_again_and_then_a_failure(tmp_path: Path) -> None:
    def reply(body: Body, number: int) -> Body:
        asked_again = len(body["messages"]) > 1
        return completion('{"omitted": ["f0"]}' if asked_again else '{"omitted": ["F7"]}', body)

    call = replace(chat(1, reply=Omissions), context={"facts": {"F0": "Has a cough."}})
    with hosted(reply) as endpoint:
        (answer,) = ask(endpoint.base_url, tmp_path, [call])
        assert "'F7' is not the id of a fact; ids are F0" in endpoint.bodies[-1]["messages"][-1]["content"]
    assert answer.value == Omissions(omitted=["F0"])
    with hosted(lambda body, _: completion('{"omitted": ["F7"]}', body)) as endpoint:
        (answer,) = ask(endpoint.base_url, tmp_path / "other", [call])
    assert answer.value is None and "not the id of a fact" in (answer.failure or "")


def test_a_reply_that_stays_invalid_is_a_failure_with_the_raw_reply(tmp_path: Path) -> None:
    with hosted(lambda body, _: completion('{"verdict": 1}', body)) as endpoint:
        (answer,) = ask(endpoint.base_url, tmp_path, [chat(1, reply=Verdict)])
        assert len(work_bodies(endpoint.bodies)) == 1 + ROLE.reasks
        ask(endpoint.base_url, tmp_path, [chat(1, reply=Verdict)])
        assert len(work_bodies(endpoint.bodies)) == 1 + ROLE.reasks, "invalid replies are paid for and kept too"
    assert not answer.ok and answer.value is None and answer.text is None
    assert answer.raw == '{"verdict": 1}'
    assert answer.failure is not None and "holds: Field required" in answer.failure


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"text": ""}, "empty"),
        ({"text": None, "refusal": "I cannot help"}, "refused (I cannot help)"),
        ({"text": "half a no", "finish": "length"}, "cut off"),
        ({"text": "x", "finish": "content_filter"}, "content filter"),
    ],
)
def test_empty_refused_and_cut_replies_are_failures(tmp_path: Path, fields: Body, reason: str) -> None:
    with hosted(
        lambda body, _: completion(fields["text"], body, **{k: fields[k] for k in fields if k != "text"})
    ) as to:
        (answer,) = ask(to.base_url, tmp_path, [chat(1)])
    assert answer.failure is not None and reason in answer.failure


def test_retry_after_is_waited_out_by_every_call(tmp_path: Path) -> None:
    def reply(body: Body, number: int) -> Body | Response:
        if number == 1:
            return JSONResponse({"error": {"message": "slow down"}}, 429, headers={"Retry-After": "1"})
        return echo(body, number)

    with hosted(reply) as endpoint:
        answers = ask(
            endpoint.base_url,
            tmp_path,
            [chat(n) for n in range(4)],
            sending=QUICK.model_copy(update={"concurrency": 1}),
        )
        gap = endpoint.times[2] - endpoint.times[1]
    assert all(answer.ok for answer in answers)
    assert 1.0 <= gap < 1.5


def test_the_endpoint_sees_no_more_requests_at_once_than_allowed(tmp_path: Path) -> None:
    async def slow(body: Body) -> Body:
        await asyncio.sleep(0.02)
        return echo(body, 0)

    with hosted(lambda body, _: slow(body)) as endpoint:
        ask(
            endpoint.base_url,
            tmp_path,
            [chat(n) for n in range(60)],
            sending=QUICK.model_copy(update={"concurrency": 5}),
        )
        assert endpoint.most_in_flight == 5


def test_requests_a_minute_are_kept_to(tmp_path: Path) -> None:
    with hosted(echo) as endpoint:
        ask(endpoint.base_url, tmp_path, [chat(n) for n in range(5)], sending=QUICK.model_copy(update={"rpm": 600}))
        gaps = [later - earlier for earlier, later in zip(endpoint.times, endpoint.times[1:], strict=False)]
    assert sum(gaps) >= 0.1 * len(gaps) * 0.95


def test_tokens_a_minute_are_kept_to(tmp_path: Path) -> None:
    with hosted(echo) as endpoint:
        role = ROLE.model_copy(update={"max_tokens": 20})
        ask(
            endpoint.base_url,
            tmp_path,
            [chat(n) for n in range(6)],
            role=role,
            sending=QUICK.model_copy(update={"tpm": 6000}),
        )
        spread = endpoint.times[-1] - endpoint.times[0]
    assert spread >= 5 * 15 / 6000 * 60 * 0.9  # 15 tokens a reply


def test_an_endpoint_that_stays_down_stops_the_stage_with_a_clear_message(tmp_path: Path) -> None:
    def reply(body: Body, number: int) -> Body | Response:
        return echo(body, number) if number < 3 else JSONResponse({"error": {"message": "boom"}}, 500)

    sending = QUICK.model_copy(update={"breaker_failures": 10, "breaker_s": 0.1, "retries": 50})
    with (
        hosted(reply) as endpoint,
        pytest.raises(EndpointError, match=r"stays down: \d+ failures in a row.*boom.*run again"),
    ):
        ask(endpoint.base_url, tmp_path, [chat(n) for n in range(30)], sending=sending)


def test_a_wrong_key_stops_the_stage_and_is_not_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = "sk-very-secret-123456"
    monkeypatch.setenv("HOSTED_KEY", secret)
    sending = QUICK.model_copy(update={"api_key_env": "HOSTED_KEY"})
    refusal = JSONResponse({"error": {"message": f"Incorrect API key provided: {secret}"}}, 401)
    with hosted(lambda *_: refusal) as endpoint, pytest.raises(EndpointError) as caught:
        ask(endpoint.base_url, tmp_path, [chat(1)], sending=sending)
    assert endpoint.headers == [] or endpoint.headers[0]["authorization"] == f"Bearer {secret}"
    assert secret not in str(caught.value) and "[redacted]" in str(caught.value)


def test_no_key_reaches_the_store_or_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    secret = "sk-very-secret-123456"
    monkeypatch.setenv("HOSTED_KEY", secret)
    caplog.set_level("DEBUG")
    with hosted(echo) as endpoint:
        ask(endpoint.base_url, tmp_path, [chat(1)], sending=QUICK.model_copy(update={"api_key_env": "HOSTED_KEY"}))
        assert endpoint.headers[0]["authorization"] == f"Bearer {secret}"
    assert secret not in caplog.text
    assert all(secret.encode() not in file.read_bytes() for file in tmp_path.iterdir())


def test_another_model_behind_the_endpoint_stops_the_stage_before_the_first_call(tmp_path: Path) -> None:
    with hosted(lambda body, _: completion("x", body, model="big-2")) as endpoint:
        with pytest.raises(
            IdentityError, match=r"answered is 'big-2', recorded is 'big-1'.*vignette probe --role writer"
        ):
            ask(endpoint.base_url, tmp_path, [chat(1)])
        assert work_bodies(endpoint.bodies) == []


def test_a_model_exchanged_in_the_middle_stops_the_stage(tmp_path: Path) -> None:
    def reply(body: Body, number: int) -> Body:
        return completion("x", body, model="big-1" if number < 10 else "big-2")

    with hosted(reply) as endpoint, pytest.raises(IdentityError, match="big-2"):
        ask(endpoint.base_url, tmp_path, [chat(n) for n in range(100)])


def test_a_rejected_call_fails_alone(tmp_path: Path) -> None:
    def reply(body: Body, number: int) -> Body | Response:
        if "hello 3" in body["messages"][-1]["content"]:
            return JSONResponse({"error": {"message": "context too long", "code": "context_length_exceeded"}}, 400)
        return echo(body, number)

    with hosted(reply) as endpoint:
        answers = ask(endpoint.base_url, tmp_path, [chat(n) for n in range(6)])
    assert [answer.ok for answer in answers] == [True, True, True, False, True, True]
    assert answers[3].failure == "HTTP 400: context too long"


def test_structured_settings_reach_the_wire(tmp_path: Path) -> None:
    with hosted(lambda body, _: completion('{"holds": false}', body)) as endpoint:
        for structured in ("json_schema", "json_object", "prompt"):
            ask(
                endpoint.base_url,
                tmp_path,
                [chat(1, reply=Verdict)],
                role=ROLE.model_copy(update={"structured": structured}),
            )
        schema, json_object, prompt = work_bodies(endpoint.bodies)
    assert schema["response_format"]["json_schema"]["strict"] is True
    assert schema["response_format"]["json_schema"]["schema"]["required"] == ["holds"]
    assert json_object["response_format"] == {"type": "json_object"}
    assert "response_format" not in prompt
    assert "Whether a claim holds." in prompt["messages"][0]["content"] and prompt["messages"][0]["role"] == "system"


def test_a_reply_in_a_fence_with_a_trailing_comma_is_read(tmp_path: Path) -> None:
    text = 'Sure:\n```json\n{"holds": true,}\n```'
    with hosted(lambda body, _: completion(text, body)) as endpoint:
        (answer,) = ask(endpoint.base_url, tmp_path, [chat(1, reply=Verdict)])
    assert answer.value == Verdict(holds=True)


def test_the_embedded_endpoint_answers_through_the_client(tmp_path: Path) -> None:
    async def run(url: str) -> list[Answer]:
        with ResponseStore(tmp_path / "responses.sqlite") as store:
            async with asker(store, url) as asking:
                assert asking.label == "vignette-writer (embedded rules)"
                return await asking([chat(n) for n in range(40)])

    with embedded("--journal", str(tmp_path / "journal"), workers=2) as server:
        answers = asyncio.run(run(server.base_url))
    assert all(answer.ok for answer in answers)
    assert len(set(journal_lines(tmp_path / "journal"))) == 40


def test_a_request_is_the_same_bytes_each_time() -> None:
    call = Call("1", (Message("user", "naïve – “quoted”"),), reply=Verdict)
    first, second = make_request(call, ROLE, "id"), make_request(call, ROLE, "id")
    assert first == second
    assert list(json.loads(first.content)) == sorted(json.loads(first.content))
    turned = ROLE.model_copy(update={"extra_body": {"b": {"y": 1, "x": 2}, "a": 0}})
    other = ROLE.model_copy(update={"extra_body": {"a": 0, "b": {"x": 2, "y": 1}}})
    assert make_request(call, turned, "id") == make_request(call, other, "id")


def test_another_redraw_is_another_request_with_the_same_text() -> None:
    call = Call("1", (Message("user", "Write a note."),), sample=5)
    first, redrawn = (make_request(call, ROLE.model_copy(update={"redraw": number}), "id") for number in (0, 1))
    assert first == make_request(call, ROLE, "id")
    assert redrawn.key != first.key
    assert json.loads(redrawn.content)["messages"] == json.loads(first.content)["messages"]
