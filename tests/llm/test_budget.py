"""The cap holds, also over restarts and kills, and its error says how to continue."""

import asyncio
import re
from pathlib import Path

import pytest

from schemas.errors import BudgetError, ParamsError
from schemas.params.llm import Budget, Price, Sending
from tasks.llm.calls import Answer
from tasks.llm.costs import Usage, cost
from tasks.llm.requests import Request
from tasks.transport.budget import Account, Prices, read_ledger
from tasks.transport.processes import this_process
from tasks.transport.store import ResponseStore
from tests.support.endpoints import chat
from tests.support.hosted import hosted
from tests.support.scenarios import PRICE, ROLE, ask, asked, echo
from tests.support.stored import sql

SMALL = ROLE.model_copy(update={"max_tokens": 10})
ONE_BY_ONE = Sending(concurrency=1, timeout_s=2)


def spent(folder: Path, ledger: str = "default") -> tuple[float, int]:
    with ResponseStore(folder / "responses.sqlite") as store:
        found = store.do_now(lambda c: read_ledger(c, ledger))
    return round(found.dollars, 6), found.calls


def run(url: str, folder: Path, numbers: range, **caps: object) -> list[Answer]:
    budget = Budget.model_validate(caps)
    calls = [chat(n) for n in numbers]
    return ask(url, folder, calls, role=SMALL, sending=ONE_BY_ONE, budget=budget, prices={"big-1": PRICE})


def test_spending_is_booked_and_survives_restarts(tmp_path: Path) -> None:
    with hosted(echo) as endpoint:
        run(endpoint.base_url, tmp_path, range(3), dollars=10.0)
        run(endpoint.base_url, tmp_path, range(5), dollars=10.0)
    assert spent(tmp_path) == ((3 + 2 + 2) * 0.02, 3 + 2 + 2), "each run checks the endpoint's identity by a call"


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


def test_a_new_ledger_starts_from_zero(tmp_path: Path) -> None:
    with hosted(echo) as endpoint:
        run(endpoint.base_url, tmp_path, range(3), dollars=10.0)
        run(endpoint.base_url, tmp_path, range(4), dollars=10.0, ledger="second")
    assert spent(tmp_path, "second") == (0.04, 2)


def test_requests_in_flight_of_a_killed_process_count_as_spent(tmp_path: Path) -> None:
    with ResponseStore(tmp_path / "responses.sqlite") as store:
        me = this_process()[0]
        sql(
            store,
            "INSERT INTO reservations VALUES (:key, 'default', 4.0, 100, :me, 4194305, 1.0, 0)",
            key=b"k" * 32,
            me=me,
        )
        account = Account(store, Budget(dollars=5.0), Prices(PRICE))
        assert asyncio.run(account.reserve(Request(b"m" * 32, b"x" * 30, "", max_tokens=10))) is True
        assert store.do_now(lambda c: read_ledger(c, "default")).dollars == 4.0
        asyncio.run(account.release(b"m" * 32))
        with pytest.raises(BudgetError, match=r"holds 4\.0000 dollars"):
            asyncio.run(account.reserve(Request(b"n" * 32, b"x" * 3000, "", max_tokens=10)))


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
        account = Account(store, Budget(tokens=tokens), Prices(Price(prompt=0, completion=0)))
        request = Request(b"m" * 32, b"x" * 30, "", max_tokens=10)
        if fits:
            assert asyncio.run(account.reserve(request)) is True
            held = store.do_now(lambda c: read_ledger(c, "default"))
            assert (held.reserved_tokens, held.tokens, held.calls) == (21, 0, 0)
        else:
            with pytest.raises(
                BudgetError, match=r"cap of 20 tokens is reached.*holds 0\.0000 dollars and 0 tokens in 0"
            ):
                asyncio.run(account.reserve(request))
