"""The client never pays twice for a reply, keeps none of another model, reads what is usable and names what failed."""

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from starlette.responses import JSONResponse, Response

from schemas.errors import EndpointError
from schemas.params.llm import Budget, Price, Sending
from tasks.llm.calls import Call
from tasks.measures.doclens.evaluators import ClaimVerdict, ClaimVerdicts
from tasks.transport.store import ResponseStore, pack
from tests.support.endpoints import QUICK as PATIENT
from tests.support.endpoints import answers as all_answers
from tests.support.endpoints import chat, journal_lines
from tests.support.faulty import KINDS, Faults
from tests.support.hosted import Body, completion, hosted
from tests.support.rules import calls_of_rules, is_right, rules
from tests.support.scenarios import (
    PRICE,
    QUICK,
    ROLE,
    Causes,
    Scenario,
    Script,
    Verdict,
    ask,
    asked,
    but_for_greeting,
    echo,
    fingerprint,
    is_greeting,
    look,
    refuses,
    run_stage,
    says,
    slowly,
    unless,
)
from tests.support.stored import sql

HOLDS = '{"holds": true, "sure": 3}'
YES = Verdict(holds=True, sure=3)
PARTS: Any = [{"type": "text", "text": text} for text in ('{"holds": true,', ' "sure": 3}')]
AS_SCHEMA = {"structured": "json_schema"}
NO_WAIT = QUICK.model_copy(update={"retries": 8})


def with_reasoning(body: Body, _: int) -> Body:
    answer = completion(HOLDS, body)
    answer["choices"][0]["message"]["reasoning_content"] = 'First {"holds": false}, but then'
    return answer


def escaped(text: str | None, **fields: Any) -> Script:
    """An endpoint that replies with characters which UTF-8 cannot encode: lone surrogates."""
    return lambda body, _: Response(json.dumps(completion(text, body, **fields)), media_type="application/json")


def reads(script: Script, value: Any) -> Scenario:
    """A reply that is read at the first try."""
    return Scenario(script, reply=type(value), role=AS_SCHEMA, said=value, sent=4)


def refused_for_good(script: Script, failure: str) -> Scenario:
    """A reply that is asked for twice in the first run, and never again."""
    role = {**AS_SCHEMA, "reasks": 1, "max_tokens": 1000}
    return Scenario(script, calls=2, reply=Verdict, role=role, runs=3, ok=0, failure=failure, sent=4)


def exchanged_after(number: int) -> Script:
    """Another model answers from the given request on."""
    return lambda body, n: completion("x", body, model="big-1" if n < number else "big-2")


def exchange(number: int) -> Scenario:
    """Nothing but the requests in flight is sent after the exchange, and no reply of the other model is kept."""
    error = "IdentityError.*answered is 'big-2', recorded is 'big-1'.*vignette probe --role writer"
    kept = max(0, number - 1)
    return Scenario(exchanged_after(number), calls=30, error=error, kept=kept, sent=range(number + 5))


def after(number: int, otherwise: Response) -> Script:
    """An endpoint that refuses all requests from the given one on."""
    return lambda body, n: completion("x", body) if n < number else otherwise


def no_credit(response: Response) -> Scenario:
    """No retry, and nothing but what was in flight."""
    error = "EndpointError.*add credit, then run again"
    return Scenario(after(3, response), calls=50, sending=NO_WAIT, error=error, kept=2, sent=range(7))


def rejected(refusal: Response, setting: str, accepted: Any = is_greeting, **role: Any) -> Scenario:
    """A setting that the endpoint rejects stops the stage after what was in flight, and is named."""
    error = f"EndpointError.*{setting}"
    return Scenario(unless(accepted, refusal), 40, Verdict, role=role, error=error, sent=range(5), kept=0)


def accepts(*ways: str) -> Script:
    """An endpoint that accepts these types of response_format ("none": requests without one)."""

    def reply(body: Body, _: int) -> Any:
        way = body.get("response_format", {"type": "none"})["type"]
        if way in ways or is_greeting(body):
            return completion('{"causes": ["asthma"]}', body)
        return refuses(400, f"response_format type {way} is unavailable", param="response_format")

    return reply


def falls_back(sent: int, *ways: str) -> Scenario:
    """A few requests learn what is refused; a second run sends none."""
    causes = Causes(causes=["asthma"])
    return Scenario(accepts(*ways), calls=6, reply=Causes, runs=2, said=causes, sent=range(6, sent + 1), kept=6)


def by_length(body: Body, _: int) -> Body:
    """A model that needs 40 tokens."""
    limit = body.get("max_tokens") or 0
    return completion("whole", body) if limit >= 40 else completion("who", body, finish="length")


def no_longer_than_20(body: Body, _: int) -> Any:
    """Refuses a longer limit; one reply is cut off."""
    if body["max_tokens"] > 20:
        return refuses(400, "max_tokens is too large", param="max_tokens")
    is_cut = "hello 1" in str(body["messages"])
    return completion("who", body, finish="length") if is_cut else completion("whole", body)


def busy_at_times(body: Body, number: int) -> Any:
    busy = refuses(429, "Rate limit reached for requests", code="rate_limit_exceeded")
    return busy if number % 3 == 1 else completion("x", body)


def answered_by(model: str | None) -> Script:
    """The recorded model answers the check of identity, and ``model`` everything else."""
    return lambda body, n: completion("x", body, model="big-1" if n == 0 else model)


def priced_by(answering: str, dollars: float) -> Scenario:
    prices = {"big-1": PRICE, "big-1-0513": Price(prompt=3000, completion=6000)}
    return Scenario(answered_by(answering), calls=1, prices=prices, aliases=("big-1-0513",), dollars=dollars)


FILTERED = refuses(400, "The response was filtered", code="content_filter", param="prompt")
NO_QUOTA = "You exceeded your current quota"
CACHED = {"prompt_tokens": 10, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 8}}
CUT = "cut off at the length limit; raise roles.writer.max_tokens"
SCENARIOS: dict[str, Scenario] = {
    # what was paid for is never asked again
    "an answered call": Scenario(says("x"), runs=2, sent=4, kept=4, dollars=0.1),
    "identical calls in flight": Scenario(slowly(says("x")), calls=[1] * 12, sent=1, kept=1),
    "an unusable reply": Scenario(
        says('{"verdict": 1}'), 1, Verdict, runs=2, ok=0, failure="holds: Field required", sent=3, kept=3
    ),
    # replies in another form are read
    "content as a list of parts": reads(says(PARTS), YES),
    "reasoning in a field of its own": reads(with_reasoning, YES),
    "an extra key": reads(says('{"holds": true, "sure": 3, "because": "of the note"}'), YES),
    "numbers and booleans as strings": reads(says('{"holds": "true", "sure": "3"}'), YES),
    "plain text with reasoning and a fence": Scenario(says("<think>Hm.</think>\n```\nCough.\n```"), said="Cough."),
    # replies that hold no answer are failures
    "empty": Scenario(says(""), 1, ok=0, failure="empty"),
    "refused": Scenario(says(None, refusal="I cannot help"), 1, ok=0, failure=r"refused \(I cannot help\)"),
    "filtered": Scenario(says("x", finish="content_filter"), 1, ok=0, failure="content filter"),
    "another kind of object": refused_for_good(says('{"verdict": "yes"}'), "holds: Field required"),
    "a lone surrogate": refused_for_good(escaped('{"holds": "\ud800"}'), "holds"),
    "a lone surrogate as the finish reason": refused_for_good(escaped("x", finish="\ud800"), "finish_reason"),
    "a refusal with a lone surrogate": refused_for_good(escaped(None, refusal="No \ud800"), "refused"),
    "reasoning without an answer": refused_for_good(says("<think>Hm, let me think about"), "it was empty"),
    "broken off by the endpoint": Scenario(
        but_for_greeting(says("x", finish="error")), 1, ok=0, failure="finish_reason error", kept=0
    ),
    "longer than its limit": Scenario(says("x" * 400), 1, runs=2, ok=0, failure="its 400 characters", sent=3, kept=3),
    # a reply cut off is asked for once more with twice the limit
    "cut off": Scenario(by_length, 1, said="whole", sent=2),
    "cut off twice": Scenario(by_length, 1, role={"max_tokens": 19}, ok=0, failure=CUT, sent=2),
    "cut off, with a cap of less than twice": Scenario(
        by_length, 1, role={"max_tokens": 30, "max_tokens_limit": 40}, said="whole", sent=2
    ),
    "cut off at the cap": Scenario(by_length, 1, role={"max_tokens_limit": 20}, ok=0, failure=CUT, sent=1),
    "cut off, and a longer limit refused": Scenario(no_longer_than_20, 3, ok=2, failure="too large"),
    # no reply of another model is kept or used
    "another model from the beginning": exchange(0),
    "another model in the middle": exchange(3),
    "an alias": Scenario(exchanged_after(2), calls=6, aliases=("big-2",), kept=6),
    "a reply without a model": Scenario(answered_by(None), error="IdentityError", kept=0),
    # what is spent is booked at its price
    "a model answering under another id": priced_by("big-1-0513", 0.08),
    "cached prompt tokens": Scenario(
        says("x", usage=CACHED), 1, prices={"big-1": Price(prompt=1000, completion=2000, cached=100)}, dollars=0.0256
    ),
    "a cap where replies give no usage": Scenario(
        says("word " * 20, usage=None), 60, budget=Budget(dollars=1.0), error="BudgetError", kept=range(5, 60)
    ),
    # an exhausted account stops the stage at once
    "402": no_credit(refuses(402, "Payment required")),
    "429 of an exhausted quota": no_credit(refuses(429, NO_QUOTA, code="insufficient_quota")),
    "429 of an exhausted quota, without words": no_credit(JSONResponse({"error": {"code": "insufficient_quota"}}, 429)),
    "429 of a busy endpoint": Scenario(busy_at_times, calls=6, sending=NO_WAIT),
    # a rejected setting stops the stage and is named; rejected texts fail alone
    "json_schema": rejected(
        refuses(400, "'response_format' of type 'json_schema' is not supported with this model"),
        "roles.writer.structured: auto",
        lambda body: body.get("response_format", {}).get("type") != "json_schema",
        structured="json_schema",
    ),
    "max_tokens": rejected(
        refuses(400, "Unsupported parameter: 'max_tokens' is not supported", param="max_tokens"),
        "roles.writer.max_tokens_field: max_completion_tokens",
        lambda body: "max_tokens" not in body,
    ),
    "a repeated rejection": Scenario(
        unless(is_greeting, refuses(400, "Deployment 7 is in a bad mood")), 200, error="bad mood", sent=range(20, 25)
    ),
    "rejected texts": Scenario(unless(lambda body: "hello 99" in str(body), FILTERED), 100, ok=1, failure="filtered"),
    "json_schema accepted": falls_back(6, "json_schema"),
    "only words accepted": falls_back(18, "none"),
    # an endpoint that stays down, or does not take the key, stops the stage
    "down": Scenario(
        after(3, refuses(500, "boom")),
        calls=30,
        sending=QUICK.model_copy(update={"breaker_failures": 10, "breaker_s": 0.1, "retries": 50}),
        error=r"EndpointError.*stays down: \d+ failures in a row.*boom.*run again",
    ),
    "no key": Scenario(
        lambda *_: refuses(401, "no key"),
        error=r"refuses every request.*holds it in runtime.sending.writer.api_key_env.*URL#api_key_env=",
    ),
    "a key that is not set": Scenario(
        lambda *_: refuses(401, "no key"),
        sending=QUICK.model_copy(update={"api_key_env": "GONE"}),
        error="nothing was sent to http.*variable GONE is not",
    ),
    "no such way": Scenario(lambda *_: refuses(501, "no chat here"), error="refuses every request: HTTP 501: no chat"),
    "no such path": Scenario(
        lambda *_: refuses(404, "Not Found"), path="/api", error=r"HTTP 404.*base_url \(is http://\S+/api/v1 meant\?\)"
    ),
    "no such model": Scenario(lambda *_: refuses(404, "no big-1"), error=r"HTTP 404.*the role's base_url, its model"),
    "a wait that is too long": Scenario(
        lambda *_: JSONResponse({"error": {"message": "later"}}, 429, headers={"Retry-After": "5000"}),
        error=r"EndpointError.*asks to wait 5000 s \(HTTP 429: later\).*run again then",
    ),
}


@pytest.mark.parametrize("name", SCENARIOS)
def test_scenario(tmp_path: Path, name: str) -> None:
    SCENARIOS[name].play(tmp_path)


def test_answers_are_in_the_order_of_calls(tmp_path: Path) -> None:
    async def slow_first(body: Body, number: int) -> Body:
        await asyncio.sleep(0.05 if "hello 0" in body["messages"][-1]["content"] else 0)
        return echo(body, number)

    with hosted(slow_first) as endpoint:
        answers = ask(endpoint.base_url, tmp_path, [chat(n) for n in range(20)])
    assert [(answer.key, answer.text) for answer in answers] == [(f"{n}/test", f"said hello {n}") for n in range(20)]
    assert ask(endpoint.base_url, tmp_path, [chat(n) for n in range(20)]) == answers, "kept, without an endpoint"


def test_another_sample_model_setting_or_epoch_is_another_request(tmp_path: Path) -> None:
    with hosted(echo) as endpoint:
        url, call = endpoint.base_url, chat(1)
        ask(url, tmp_path, [call])
        ask(url, tmp_path, [Call(call.key, call.messages, sample=1)])
        ask(url, tmp_path, [call], role=ROLE.model_copy(update={"temperature": 0.3}))
        ask(url, tmp_path, [call], fingerprint=fingerprint(url, epoch=1))
        assert [body["seed"] for body in asked(endpoint)] == [0, 1, 0, 0]


def test_an_unusable_reply_is_asked_for_again_with_its_problem(tmp_path: Path) -> None:
    right, wrong = (json.dumps({"verdicts": [{"claim": claim, "entailed": 0}]}) for claim in ("1", "7"))

    def reply(body: Body, number: int) -> Body:
        return completion(right if len(body["messages"]) > 1 else wrong, body)

    call = replace(chat(1, reply=ClaimVerdicts), context={"claims": 1})
    with hosted(reply) as endpoint:
        (answer,) = ask(endpoint.base_url, tmp_path, [call])
        again = endpoint.bodies[-1]["messages"]
    assert answer.value == ClaimVerdicts(verdicts=[ClaimVerdict(claim=1, entailed=0)])
    assert [message["role"] for message in again] == ["user", "assistant", "user"]
    assert again[1]["content"] == wrong
    assert "claim 7 is not one of 1 to 1" in again[2]["content"]


def test_the_store_keeps_the_raw_reply(tmp_path: Path) -> None:
    Scenario(says("<think>Let me see.</think>\nCough."), calls=1, said="Cough.").play(tmp_path)
    with ResponseStore(tmp_path / "responses.sqlite") as store:
        assert "Let me see." in (store.find(sql(store, "SELECT key FROM responses")[0][0]) or "")


def test_a_wrong_reply_in_the_store_is_deleted_and_asked_for_again(tmp_path: Path) -> None:
    def spoil(folder: Path) -> None:
        wrong = pack(json.dumps(completion("wrong", {"model": "big-2"})).encode())
        sql(folder / "responses.sqlite", "UPDATE responses SET reply = :wrong", wrong=wrong)

    numbered = Scenario(lambda body, n: completion(f"reply {n}", body), calls=1, between_runs=spoil, runs=2)
    assert numbered.play(tmp_path).answers[0].text == "reply 3"


def test_retry_after_is_waited_out_by_every_call(tmp_path: Path) -> None:
    slow_down = JSONResponse({"error": {"message": "slow down"}}, 429, headers={"Retry-After": "1"})
    one_by_one = QUICK.model_copy(update={"concurrency": 1})
    played = Scenario(lambda body, n: slow_down if n == 1 else echo(body, n), sending=one_by_one).play(tmp_path)
    assert 1.0 <= played.endpoint.times[2] - played.endpoint.times[1] < 1.5


@pytest.mark.parametrize(
    ("limits", "calls", "least_s"),
    [({"rpm": 600}, 5, 4 * 0.1), ({"tpm": 6000}, 6, 5 * 15 / 6000 * 60)],  # a reply takes 15 tokens
)
def test_limits_a_minute_are_kept_to(tmp_path: Path, limits: dict[str, int], calls: int, least_s: float) -> None:
    played = Scenario(echo, calls, sending=PATIENT.model_copy(update=limits)).play(tmp_path)
    assert played.endpoint.times[-1] - played.endpoint.times[0] >= 0.9 * least_s


def test_the_endpoint_sees_no_more_requests_at_once_than_allowed(tmp_path: Path) -> None:
    sending = PATIENT.model_copy(update={"concurrency": 5})
    assert Scenario(slowly(echo), 60, sending=sending).play(tmp_path).endpoint.most_in_flight == 5


KEY = "sk-very-secret-123456"
HOSTED_KEY = QUICK.model_copy(update={"api_key_env": "HOSTED_KEY"})
AZURE = {"path": "/openai/deployments/my-gpt", "query": "?api-version=2024-10-21"}


@pytest.mark.parametrize(
    ("settings", "header", "value"),
    [
        ({}, "authorization", f"Bearer {KEY}"),
        ({**AZURE, "role": {"identity": ["endpoint", "asked", "answered"]}}, "api-key", KEY),
        ({"sending": HOSTED_KEY.model_copy(update={"api_key_header": "X-Gateway-Key"})}, "x-gateway-key", KEY),
        ({"role": {"headers": {"X-Project": "notes"}}}, "x-project", "notes"),
    ],
)
def test_headers_reach_the_endpoint_and_no_key_the_store_or_the_log(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    settings: dict[str, Any],
    header: str,
    value: str,
) -> None:
    monkeypatch.setenv("HOSTED_KEY", KEY)
    caplog.set_level("DEBUG")
    endpoint = Scenario(says("x"), **{"sending": HOSTED_KEY, **settings}).play(tmp_path).endpoint
    assert {headers[header] for headers in endpoint.headers} == {value}
    assert {"authorization" in headers for headers in endpoint.headers} == {"api-key" != header != "x-gateway-key"}
    assert set(endpoint.queries) == {settings.get("query", "").removeprefix("?")}
    assert KEY not in caplog.text
    assert all(KEY.encode() not in file.read_bytes() for file in tmp_path.iterdir())


def test_a_role_adds_its_query_to_each_request(tmp_path: Path) -> None:
    played = Scenario(says("x"), role={"query": {"api-version": "preview"}}).play(tmp_path)
    assert set(played.endpoint.queries) == {"api-version=preview"}


@pytest.mark.parametrize("key", ["none", "test", KEY])
def test_a_key_never_changes_a_reply(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    monkeypatch.setenv("HOSTED_KEY", key)
    said = f"the test shows none of {KEY}"
    Scenario(says(said), sending=HOSTED_KEY, said=said).play(tmp_path)


@pytest.mark.parametrize("settings", [{}, {"query": {"sig": KEY}}])
def test_a_key_is_redacted_in_errors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: dict[str, Any]) -> None:
    monkeypatch.setenv("HOSTED_KEY", KEY)
    refusal, error = refuses(401, f"bad key {KEY}"), r"bad key \[redacted\]"
    played = Scenario(lambda *_: refusal, role=settings, sending=HOSTED_KEY, error=error).play(tmp_path)
    assert KEY not in str(played.error)


def test_a_key_that_no_header_can_hold_is_named_and_not_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOSTED_KEY", f"{KEY}é")
    played = Scenario(says("x"), sending=HOSTED_KEY, error="key in HOSTED_KEY, or a header of the role has").play(
        tmp_path
    )
    assert KEY not in str(played.error) and not played.endpoint.bodies


def test_a_key_is_redacted_in_what_is_told_of_a_model(tmp_path: Path) -> None:
    with hosted(says("x")) as endpoint:
        endpoint.model_fields = {"owned_by": f"the holder of {KEY}"}
        assert look(endpoint, tmp_path, query={"sig": KEY}).entry["owned_by"] == "the holder of [redacted]"


def test_nothing_is_sent_without_a_key_that_is_named(tmp_path: Path) -> None:
    played = SCENARIOS["a key that is not set"].play(tmp_path)
    assert played.endpoint.bodies == [] and "export it, then run again" in str(played.error)


def test_another_host_than_openais_gets_no_key_unless_one_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.setenv(name, KEY)
    played = Scenario(says("x")).play(tmp_path)
    assert not any(KEY in value for headers in played.endpoint.headers for value in headers.values())


FAULTY = Sending(timeout_s=0.4, backoff_s=0.01, retries=8, concurrency=24, breaker_failures=10_000)


def test_with_every_fault_at_five_percent_each_call_is_right_or_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with rules(monkeypatch, tmp_path, Faults(dict.fromkeys(KINDS, 0.05), seed=5, retry_after_s=0.05)) as base_url:
        answers = all_answers(base_url, tmp_path, calls_of_rules(60), sending=FAULTY)
    assert all(is_right(answer) if answer.ok else answer.failure for answer in answers)
    assert len(answers) == 120 and sum(answer.ok for answer in answers) > 110
    assert {outcome for _, outcome in journal_lines(tmp_path / "journal")} == {"ok", *KINDS}, "every fault took place"


def test_a_stage_with_lost_calls_is_unfinished_and_its_next_run_asks_only_for_them(tmp_path: Path) -> None:
    failures = iter(range(2))  # of both attempts in the first run

    def reply(body: Body, _: int) -> Any:
        is_lost = "hello 3" in str(body["messages"]) and next(failures, None) is not None
        return refuses(500, "boom") if is_lost else completion("fine", body)

    with hosted(reply) as endpoint:
        with pytest.raises(EndpointError, match=r"1 call failed on the way.*3/test.*boom.*accept_lost_calls: true"):
            run_stage(endpoint, tmp_path)
        sent = len(endpoint.bodies)
        assert all(run_stage(endpoint, tmp_path))
        assert len(endpoint.bodies) == sent + 2, "the check of identity and the lost call"


def test_a_request_that_waits_to_be_sent_again_keeps_its_place(tmp_path: Path) -> None:
    one_at_a_time = PATIENT.model_copy(update={"concurrency": 1, "backoff_s": 0.4})
    script = {1: refuses(503, "not now")}  # after the check of identity
    played = Scenario(lambda body, n: script.get(n) or echo(body, n), 2, sending=one_at_a_time).play(tmp_path)
    _, failed, other, _ = played.endpoint.times
    assert other - failed >= 0.2, "so that an endpoint that fails gets fewer requests at once"


def test_lost_calls_can_be_accepted_and_failures_by_content_always_are(tmp_path: Path) -> None:
    wrong = {
        "hello 1": refuses(400, "filtered", code="content_filter"),
        "hello 2": {"object": "error"},
        "hello 3": refuses(500, "boom"),
    }

    def reply(body: Body, _: int) -> Any:
        return next((said for part, said in wrong.items() if part in str(body["messages"])), completion("fine", body))

    with hosted(reply) as endpoint:
        assert run_stage(endpoint, tmp_path, accept_lost_calls=True) == [True, False, False, False, True, True]
        del wrong["hello 3"]
        assert run_stage(endpoint, tmp_path) == [True, False, False, True, True, True]
