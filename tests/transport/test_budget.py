"""The cap holds, also over restarts and kills, and its error says how to continue."""

import asyncio
import json
import re
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from starlette.responses import Response, StreamingResponse

from schemas.errors import BudgetError, EndpointError, ParamsError
from schemas.params.llm import Budget, Price, Sending
from tasks.llm.calls import Answer
from tasks.llm.costs import Usage, cost
from tasks.llm.requests import Request
from tasks.progress import Count
from tasks.transport import role
from tasks.transport.inspection import ledgers, set_ledger
from tasks.transport.ledger import _fits, read_ledger
from tasks.transport.prices import Prices
from tasks.transport.processes import this_process
from tasks.transport.store import ResponseStore
from tests.support.endpoints import chat
from tests.support.hosted import Body, completion, hosted
from tests.support.scenarios import (
    PRICE,
    QUICK,
    ROLE,
    Played,
    Scenario,
    Script,
    ask,
    asked,
    but_for_greeting,
    echo,
    refuses,
    says,
)
from tests.support.stored import fill, sql, within

SMALL = ROLE.model_copy(update={"max_tokens": 10})
ONE_BY_ONE = Sending(concurrency=1, timeout_s=2)


def spent(folder: Path, ledger: str = "default") -> tuple[float, int]:
    found = within(folder / "responses.sqlite", ledgers)[ledger]
    return round(found.dollars, 6), found.calls


def run(url: str, folder: Path, numbers: range, **caps: object) -> list[Answer]:
    budget = Budget.model_validate(caps)
    calls = [chat(n) for n in numbers]
    return ask(url, folder, calls, role=SMALL, sending=ONE_BY_ONE, budget=budget, prices={"big-1": PRICE})


def test_a_ledger_is_set_to_a_figure_whatever_it_held_and_the_others_stay(tmp_path: Path) -> None:
    fill(tmp_path / "responses.sqlite")
    for name, dollars in (("mine", 2.0), ("theirs", 3.0), ("mine", 0.5)):
        within(tmp_path / "responses.sqlite", set_ledger, name, dollars)
    assert (spent(tmp_path, "mine"), spent(tmp_path, "theirs")) == ((0.5, 0), (3.0, 0))


def test_the_cap_stops_the_run_in_time_and_the_message_says_how_to_continue(tmp_path: Path) -> None:
    with hosted(echo) as endpoint:
        with pytest.raises(BudgetError, match=r"cap of 0.5 dollars.*raise budget.dollars.*same command again"):
            run(endpoint.base_url, tmp_path, range(100), dollars=0.5)
        dollars, calls = spent(tmp_path)
        assert 0.3 <= dollars <= 0.5
        with pytest.raises(BudgetError):
            run(endpoint.base_url, tmp_path, range(100), dollars=0.5)
        assert spent(tmp_path) == (dollars, calls), "a restart spends nothing more"
        answers = run(endpoint.base_url, tmp_path, range(30), dollars=5.0)
        assert len(asked(endpoint)) == 30, "raising the cap goes on where it stopped"
    assert all(answer.ok for answer in answers)


class Watched(Count):
    """Keeps the dollars that a progress line would show."""

    def __init__(self) -> None:
        super().__init__("test", "call")
        self.shown = list[float]()

    def update(self, units: int = 1) -> None:
        self.shown.append(round(self.dollars, 6))


def test_progress_shows_what_was_booked_so_far(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown, again = Watched(), Watched()
    how = {"role": SMALL, "sending": ONE_BY_ONE, "budget": Budget(dollars=10.0), "prices": {"big-1": PRICE}}
    with hosted(echo) as endpoint:
        for watched in (shown, again):
            monkeypatch.setattr(role, "progress", lambda *_, watched=watched: nullcontext(watched))
            ask(endpoint.base_url, tmp_path, [chat(n) for n in range(3)], **how)
    assert shown.total == 3 and shown.shown == sorted(shown.shown)
    assert shown.shown[-1] == 0.06 and spent(tmp_path)[0] == 0.08, "the check of identity is no call"
    assert again.shown == [0, 0, 0], "replies from the store cost nothing"


def test_a_new_ledger_starts_from_zero(tmp_path: Path) -> None:
    with hosted(echo) as endpoint:
        run(endpoint.base_url, tmp_path, range(3), dollars=10.0)
        run(endpoint.base_url, tmp_path, range(4), dollars=10.0, ledger="second")
    assert spent(tmp_path, "second") == (0.04, 2)


@pytest.mark.parametrize("ledger", ["default", "second"])
def test_a_request_of_a_process_that_died_is_booked_where_it_was_reserved(tmp_path: Path, ledger: str) -> None:
    budget, dead = Budget(dollars=5.0), (this_process()[0], 4194305, 1.0)
    with ResponseStore(tmp_path / "responses.sqlite") as store:
        assert asyncio.run(store.reserve(b"m" * 32, budget, 1.0, 100))
        sql(store, "UPDATE reservations SET host = :host, pid = :pid, born = 1.0", host=dead[0], pid=dead[1])
        assert asyncio.run(store.reserve(b"m" * 32, Budget(dollars=5.0, ledger=ledger), 1.0, 100))
        before, now = (store.do_now(lambda c, name=name: read_ledger(c, name)) for name in ("default", ledger))
        assert (before.dollars, before.unknown, now.reserved_dollars) == (1.0, 1, 1.0)


def test_a_cap_in_dollars_needs_a_price(tmp_path: Path) -> None:
    with pytest.raises(ParamsError, match=re.escape("prices has no entry for 'big-1' (role writer)")):
        ask("http://127.0.0.1:9/v1", tmp_path, [chat(1)], budget=Budget(dollars=1.0))


def test_cached_tokens_have_their_own_price_where_one_is_known() -> None:
    usage = Usage(10, 4, cached=6)
    assert usage.tokens == 14
    assert cost(PRICE, Usage(1000, 100), batch=True) == pytest.approx(0.6), "batches cost half"
    assert cost(Price(prompt=2, completion=3, cached=1), usage) == pytest.approx((2 * 4 + 1 * 6 + 3 * 4) / 1e6)
    assert cost(Price(prompt=2, completion=3), usage) == pytest.approx((2 * 10 + 3 * 4) / 1e6)


def test_a_reply_has_the_price_of_its_model_and_a_reservation_that_of_the_dearest() -> None:
    asked, dear, cheap = Price(prompt=4, completion=1), Price(prompt=1, completion=5), Price(prompt=1, completion=1)
    prices = Prices(asked, {"dear": dear, "cheap": cheap})
    assert [prices.of(model) for model in ("dear", "cheap", "unknown")] == [dear, cheap, asked]
    assert prices.dearest == dear and Prices(None, {"cheap": cheap}).of("unknown") == cheap
    assert Prices().dearest is None and Prices().of("unknown") == Price(prompt=0, completion=0)


@pytest.mark.parametrize(("tokens", "fits"), [(21, True), (20, False)])
def test_a_request_that_just_reaches_the_cap_is_sent(tmp_path: Path, tokens: int, fits: bool) -> None:
    """30 bytes are at most 11 tokens, and the reply has at most 10."""
    with ResponseStore(tmp_path / "responses.sqlite") as store:
        most = Prices(Price(prompt=0, completion=0)).most(Request(b"m" * 32, b"x" * 30, "", max_tokens=10))
        if fits:
            assert asyncio.run(store.reserve(b"m" * 32, Budget(tokens=tokens), *most)) is True
            held = store.do_now(lambda c: read_ledger(c, "default"))
            assert (held.reserved_tokens, held.tokens, held.calls) == (21, 0, 0)
            assert [_fits(Budget(tokens=cap), held, 0.0, 21) for cap in (41, 42)] == [False, True], "beside the first"
        else:
            with pytest.raises(
                BudgetError, match=r"cap of 20 tokens is reached.*holds 0\.0000 dollars and 0 tokens in 0"
            ):
                asyncio.run(store.reserve(b"m" * 32, Budget(tokens=tokens), *most))


CAP = 0.5
IMPATIENT = QUICK.model_copy(update={"timeout_s": 0.5, "retries": 8, "backoff_s": 0.0})


async def hang(body: Body, _: int) -> Body:
    await asyncio.sleep(5.0)
    return completion("too late", body)


def breaks_off(body: Body, _: int) -> Response:
    """The connection ends in the middle of a reply."""

    async def half() -> Any:
        yield json.dumps(completion("fine", body)).encode()[:40]
        raise ConnectionError

    return StreamingResponse(half(), media_type="application/json", headers={"content-length": "500"})


SAID = "He has a dry cough and no fever."


def with_usage(**usage: Any) -> Script:
    return lambda body, _: completion(SAID, body, usage={"prompt_tokens": 10, "completion_tokens": 5} | usage)


def infinite(body: Body, _: int) -> Response:
    text = json.dumps(completion(SAID, body)).replace('"prompt_tokens": 10', '"prompt_tokens": 1e999')
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
    "a list": lambda body, _: completion(SAID, body, usage=[10, 5]),
    "none": says(SAID, usage=None),
}


def may_be_billed(played: Played, answered: int) -> float:
    """The most that the endpoint can charge: a token for four bytes of a request, and replies at their limit.

    The first ``answered`` requests are billed as their replies say.
    """
    unknown = [(len(json.dumps(body)) / 4, body["max_tokens"]) for body in played.endpoint.bodies[answered:]]
    return answered * 0.02 + sum(prompt * PRICE.prompt + reply * PRICE.completion for prompt, reply in unknown) / 1e6


@pytest.mark.parametrize(("kind", "greets"), [*((kind, True) for kind in UNKNOWN), ("a timeout", False)])
def test_attempts_of_unknown_outcome_are_spent_and_never_pass_the_cap(tmp_path: Path, kind: str, greets: bool) -> None:
    script = but_for_greeting(UNKNOWN[kind]) if greets else UNKNOWN[kind]
    error = "BudgetError.*cap of 0.5"
    played = Scenario(script, 30, sending=IMPATIENT, budget=Budget(dollars=CAP), error=error, runs=2).play(tmp_path)
    assert 0.2 < may_be_billed(played, answered=int(greets)) <= played.spent.dollars <= CAP
    assert played.spent.unknown == len(played.endpoint.bodies) - greets


TOO_LONG = refuses(400, "too long", code="context_length_exceeded")
KNOWN = {
    "an unreadable reply with usage": (lambda body, _: completion("x", body) | {"choices": []}, "no chat", 3 * 0.02),
    "busy": (lambda body, n: refuses(429 if n % 2 else 500, "busy"), "busy", 0.02),
    "rejected": (lambda *_: TOO_LONG, "too long", 0.02),
}


@pytest.mark.parametrize("kind", KNOWN)
def test_a_failure_costs_what_its_reply_says_or_nothing_where_it_was_surely_not_billed(
    tmp_path: Path, kind: str
) -> None:
    script, failure, dollars = KNOWN[kind]
    played = Scenario(but_for_greeting(script), 1, ok=0, failure=failure, dollars=dollars).play(tmp_path)
    assert played.spent.unknown == 0


def test_an_endpoint_that_is_not_there_costs_nothing(tmp_path: Path) -> None:
    with hosted(says("x")) as endpoint:
        pass
    with pytest.raises(EndpointError, match="does not answer"):
        ask(endpoint.base_url, tmp_path, [chat(0)], sending=QUICK, prices={"big-1": PRICE})
    assert within(tmp_path / "responses.sqlite", ledgers) == {}


@pytest.mark.parametrize("kind", ODD_USAGE)
def test_usage_that_is_absent_or_cannot_be_is_estimated(tmp_path: Path, kind: str) -> None:
    played = Scenario(ODD_USAGE[kind], 2, said=SAID).play(tmp_path)
    assert [row[3] for row in played.kept] == [1, 1], "marked as estimated"
    assert all(5 <= prompt <= 60 and 7 <= reply <= 12 for _, prompt, reply, _ in played.kept)
    booked = sum(row[1] * 1e-3 + row[2] * 2e-3 for row in played.kept)
    assert 0 < booked < played.spent.dollars < 0.5 and played.spent.calls == 3


def test_room_that_dead_processes_held_is_used(tmp_path: Path) -> None:
    budget, host = Budget(dollars=1.0), this_process()[0]
    with ResponseStore(tmp_path / "responses.sqlite") as store:
        assert asyncio.run(store.reserve(b"m" * 32, budget, 0.4, 100))
        sql(store, "UPDATE reservations SET host = :host, pid = 4194305", host=host)
        assert asyncio.run(store.reserve(b"n" * 32, budget, 0.6, 100))
