"""Whatever an endpoint does, no more is spent than the cap, and what may have been billed is booked."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from starlette.responses import JSONResponse, Response, StreamingResponse

from flows.commands import cli
from schemas.errors import EndpointError
from schemas.params.llm import Budget
from tasks.transport.inspection import ledgers
from tests.support.endpoints import chat
from tests.support.hosted import Body, completion, hosted
from tests.support.scenarios import PRICE, QUICK, Played, Scenario, Script, ask, but_for_greeting, refuses, says
from tests.support.stored import within

CAP = 0.5
IMPATIENT = QUICK.model_copy(update={"timeout_s": 0.3, "retries": 8, "backoff_s": 0.0})


async def hang(body: Body, _: int) -> Body:
    await asyncio.sleep(1.0)
    return completion("too late", body)


def breaks_off(body: Body, _: int) -> Response:
    """The connection ends in the middle of a reply."""

    async def half() -> Any:
        yield json.dumps(completion("fine", body)).encode()[:40]
        raise ConnectionError

    return StreamingResponse(half(), media_type="application/json", headers={"content-length": "500"})


def with_usage(**usage: Any) -> Script:
    return lambda body, _: completion("fine", body, usage={"prompt_tokens": 10, "completion_tokens": 5} | usage)


def infinite(body: Body, _: int) -> Response:
    text = json.dumps(completion("fine", body)).replace('"prompt_tokens": 10', '"prompt_tokens": 1e999')
    return Response(text, media_type="application/json")


UNKNOWN: dict[str, Script] = {
    "a timeout": hang,
    "a reply that breaks off": breaks_off,
    "no JSON": lambda *_: Response("<html>hello</html>", media_type="text/html"),
    "no choices": lambda body, _: completion("x", body) | {"choices": [], "usage": None},
    "a gateway that gave up": lambda *_: refuses(504, "upstream timed out"),
}
ODD_USAGE: dict[str, Script] = {
    "negative": with_usage(prompt_tokens=-1_000_000),
    "infinite": infinite,
    "more than any model takes": with_usage(completion_tokens=10**12),
    "more than was sent": with_usage(prompt_tokens=200_000),
    "more cached than sent": with_usage(prompt_tokens_details={"cached_tokens": 500}),
    "words": with_usage(prompt_tokens="many"),
    "a list": lambda body, _: completion("fine", body, usage=[10, 5]),
}


def may_be_billed(played: Played, answered: int) -> float:
    """The most that the endpoint can charge: a token for four bytes of a request, and replies at their limit.

    The first ``answered`` requests are billed as their replies say.
    """
    unknown = [(len(json.dumps(body)) / 4, body["max_tokens"]) for body in played.endpoint.bodies[answered:]]
    return answered * 0.02 + sum(prompt * PRICE.prompt + reply * PRICE.completion for prompt, reply in unknown) / 1e6


@pytest.mark.parametrize("kind", UNKNOWN)
@pytest.mark.parametrize("greets", [True, False])
def test_attempts_of_unknown_outcome_are_spent_and_never_pass_the_cap(tmp_path: Path, kind: str, greets: bool) -> None:
    script = but_for_greeting(UNKNOWN[kind]) if greets else UNKNOWN[kind]
    error = "BudgetError.*cap of 0.5"
    played = Scenario(script, 30, sending=IMPATIENT, budget=Budget(dollars=CAP), error=error, runs=2).play(tmp_path)
    assert 0.2 < may_be_billed(played, answered=int(greets)) <= played.spent.dollars <= CAP
    assert played.spent.unknown == len(played.endpoint.bodies) - greets


def test_an_unreadable_reply_with_usage_costs_what_it_says(tmp_path: Path) -> None:
    script = but_for_greeting(lambda body, _: completion("x", body) | {"choices": []})
    played = Scenario(script, 1, ok=0, failure="no chat completion").play(tmp_path)
    assert (played.spent.dollars, played.spent.unknown) == (pytest.approx(3 * 0.02), 0)


def test_requests_that_were_surely_not_billed_cost_nothing(tmp_path: Path) -> None:
    script = but_for_greeting(lambda body, n: refuses(429 if n % 2 else 500, "busy"))
    Scenario(script, 4, ok=0, failure="busy", dollars=0.02).play(tmp_path)


def test_an_endpoint_that_is_not_there_costs_nothing(tmp_path: Path) -> None:
    with hosted(says("x")) as endpoint:
        pass
    with pytest.raises(EndpointError, match="does not answer"):
        ask(endpoint.base_url, tmp_path, [chat(0)], sending=QUICK, prices={"big-1": PRICE})
    assert within(tmp_path / "responses.sqlite", ledgers) == {}


@pytest.mark.parametrize("kind", ODD_USAGE)
def test_usage_that_cannot_be_is_refused_and_estimated(tmp_path: Path, kind: str) -> None:
    played = Scenario(ODD_USAGE[kind], 2, said="fine").play(tmp_path)
    assert [row[3] for row in played.kept] == [1, 1], "marked as estimated"
    assert all(1 <= row[1] < 100 and 1 <= row[2] < 10 for row in played.kept)
    assert 0 < played.spent.dollars < 0.5


def test_the_ledger_shows_what_is_estimated_and_can_be_set_to_the_providers_figure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Scenario(but_for_greeting(UNKNOWN["no JSON"]), 1, ok=0, failure="no chat completion").play(tmp_path)
    store = ["--store", str(tmp_path / "responses.sqlite")]
    assert cli.run(["store", "show", *store]) == 0
    assert "3 calls, of which 2 of unknown outcome" in capsys.readouterr().out
    assert cli.run(["store", "ledger", "default", "--dollars", "0.03", *store]) == 0
    assert "ledger default: 0.0300 dollars, 0 tokens, 0 calls" in capsys.readouterr().out


def test_a_rejected_request_is_not_booked(tmp_path: Path) -> None:
    too_long = JSONResponse({"error": {"message": "too long", "code": "context_length_exceeded"}}, 400)
    Scenario(but_for_greeting(lambda *_: too_long), 2, ok=0, failure="too long", dollars=0.02).play(tmp_path)
