"""The response store behaves alike with an sqlite file and with PostgreSQL."""

import asyncio
import json
import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import count as numbers
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from schemas.errors import BudgetError, StoreError
from schemas.params.llm import Budget, Price, Sending
from tasks.transport.database import Where, beat, exists
from tasks.transport.epochs import settle
from tasks.transport.fingerprint import Fingerprint
from tasks.transport.inspection import check, export, import_replies, ledgers
from tasks.transport.ledger import free, read_ledger
from tasks.transport.limits import Rate
from tasks.transport.store import ResponseStore
from tests.support.endpoints import asker, chat
from tests.support.hosted import Body, hosted
from tests.support.postgres import create_database, postgres_server, programs
from tests.support.scenarios import PRICE, ROLE, ask, asked, echo, fingerprint, is_greeting
from tests.support.stored import fill, kept, paid, sql, within

SERVER = get_context("forkserver")
SERVER.set_forkserver_preload([__name__])


def start(run: Callable[..., None], *arguments: Any) -> tuple[BaseProcess, Connection]:
    """A process that calls ``run`` with a connection and ``arguments``, and the end at which its messages arrive."""
    here, there = SERVER.Pipe(duplex=False)
    process = SERVER.Process(target=run, args=(there, *arguments), daemon=True)
    process.start()
    there.close()
    return process, here


def messages(connection: Connection) -> list[Any]:
    """All messages until the process ends."""
    found = []
    try:
        while True:
            found.append(connection.recv())
    except EOFError:
        return found


def finished(started: list[tuple[BaseProcess, Connection]]) -> bool:
    """Wait for processes; whether all of them succeeded."""
    for process, _ in started:
        process.join()
    return all(process.exitcode == 0 for process, _ in started)


def write_replies(said: Connection, where: Where, first: int, last: int) -> None:
    """Store replies one by one, and send the number of each that is committed."""

    async def run() -> None:
        with ResponseStore(where) as store:
            for n in range(first, last):
                await store.do(paid(n).insert)
                said.send(n)

    asyncio.run(run())


NewStore = Callable[[], Where]


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    if programs() is None:
        pytest.skip("PostgreSQL is not installed: apt-get install postgresql")
    pytest.importorskip("psycopg", reason='psycopg is not installed: pip install "vignette[postgres]"')
    with postgres_server() as address:
        yield address


@pytest.fixture(params=["sqlite", "postgresql"])
def new_store(request: pytest.FixtureRequest, tmp_path: Path) -> NewStore:
    """Creates empty stores of one kind."""
    number = numbers()
    if request.param == "sqlite":
        return lambda: tmp_path / f"{next(number)}.sqlite"
    address = request.getfixturevalue("server")
    return lambda: create_database(address, f"store_{os.getpid()}_{time.monotonic_ns()}")


def test_replies_are_kept_found_exported_and_imported(tmp_path: Path, new_store: NewStore) -> None:
    where, copy = new_store(), new_store()
    fill(where, *map(paid, range(30)))
    with ResponseStore(where) as store:
        assert store.find(paid(3).key) == paid(3).reply and store.find(b"?" * 32) is None
        assert store.do_now(paid(3).insert) is False, "a second copy changes nothing"
    lines = within(where, export, "write")
    assert len(lines) == 30
    (tmp_path / "file").write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(StoreError, match="line 1: the request is not the one that its key names"):
        import_replies(copy, tmp_path / "file")  # with made-up keys
    assert len(within(where, check).unreadable) == 30, "by their keys"


async def answered(where: Where, url: str, numbers: range, **sending: int) -> list[str | None]:
    """The replies to paid calls, through a store."""
    role = ROLE.model_copy(update={"base_url": url})
    more = {"prices": {"big-1": PRICE}, "sending": Sending(**sending), "fingerprint": fingerprint(url)}
    with ResponseStore(where) as store:
        async with asker(store, url, role=role, **more) as ask:
            return [answer.text for answer in await ask([chat(n) for n in numbers])]


def test_calls_are_answered_once_and_booked(new_store: NewStore) -> None:
    where = new_store()
    with hosted(echo) as endpoint:
        first, again = (asyncio.run(answered(where, endpoint.base_url, range(20), rpm=60_000)) for _ in range(2))
        assert first == again and len(endpoint.bodies) == 21
    spent = within(where, ledgers)["default"]
    assert (round(spent.dollars, 6), spent.calls, spent.reserved_tokens) == (0.42, 21, 0)


def test_the_cap_holds_for_all_who_use_the_store(new_store: NewStore) -> None:
    where = new_store()

    async def run() -> list[object]:
        with ResponseStore(where) as one, ResponseStore(where) as other:
            stores, cap = (one, other), Budget(dollars=1.0)
            asked = [stores[n % 2].reserve(n.to_bytes(32, "big"), cap, 0.1, 55) for n in range(20)]
            jobs = [asyncio.ensure_future(job) for job in asked]
            while sum(job.done() for job in jobs) < 10:
                await asyncio.sleep(0.05)
            await asyncio.wait(jobs, timeout=0.5)
            done = [job.result() for job in jobs if job.done()]
            for job in jobs:
                job.cancel()
            return done

    assert asyncio.run(run()) == [True] * 10, "each may cost ten cents"


def call_up_to_a_cap(said: Connection, where: Where, url: str, first: int) -> None:
    """Paid calls until the cap of a dollar stops them; sends the error that does."""
    role = ROLE.model_copy(update={"base_url": url, "max_tokens": 10})
    paying = {"prices": {"big-1": PRICE}, "budget": Budget(dollars=1.0), "fingerprint": fingerprint(url)}

    async def run() -> None:
        with ResponseStore(where) as store:
            async with asker(store, url, role=role, sending=Sending(concurrency=4), **paying) as ask:
                await ask([chat(n) for n in range(first, first + 100)])

    try:
        asyncio.run(run())
    except BudgetError as error:
        said.send(str(error))


def test_eight_processes_together_spend_up_to_the_cap_and_no_more(tmp_path: Path) -> None:
    where = tmp_path / "responses.sqlite"
    with hosted(echo) as endpoint:
        started = [start(call_up_to_a_cap, where, endpoint.base_url, 100 * n) for n in range(8)]
        said = [messages(connection) for _, connection in started]
        assert finished(started)
    spent = within(where, ledgers)["default"]
    assert all("the cap of 1 dollars is reached" in error for (error,) in said), "each is stopped"
    assert 0.9 < spent.dollars <= 1.0 and spent.reserved_tokens == 0
    assert spent.calls == len(endpoint.bodies) and spent.unknown == 0


def test_reservations_of_an_unreachable_machine_count_as_spent(new_store: NewStore) -> None:
    where = new_store()
    elsewhere = ("another-host", 4242, 1.0)
    with ResponseStore(where) as store:
        held = "INSERT INTO reservations VALUES (:key, 'default', 0.4, 100, 'another-host', 4242, 1.0)"
        sql(store, held, key=b"k" * 32)
        store.do_now(lambda connection: beat(connection, elsewhere))
        cap = Budget(dollars=1.0)
        assert asyncio.run(store.reserve(b"k" * 32, cap, 0.003, 2)) is False, "it is under way"
        sql(store, "UPDATE processes SET seen = 0")
        with ResponseStore(where) as later:
            assert asyncio.run(later.reserve(b"m" * 32, cap, 0.003, 2)) is True
        spent = store.do_now(lambda c: read_ledger(c, "default"))
        assert (spent.dollars, spent.calls) == (0.4, 1)
        store.do_now(lambda c: free(c, b"m" * 32))
        with pytest.raises(BudgetError):
            asyncio.run(store.reserve(b"n" * 32, cap, 0.8, 401))


def test_a_former_epoch_is_recognised(new_store: NewStore) -> None:
    identity = {"endpoint": "e", "asked": "a"}
    probes = [Fingerprint("writer", identity, canaries={f"p{n}": [word] * 6 for n in range(8)}) for word in "ab"]
    with ResponseStore(new_store()) as store:
        first, _ = settle(store, None, probes[0], 0.01)
        second, _ = settle(store, first, probes[1], 0.01)
        assert (second.epoch, settle(store, second, probes[0], 0.01)[0].epoch) == (1, 0)


def test_committed_replies_survive_a_kill(new_store: NewStore) -> None:
    where = new_store()
    writer, said_by = start(write_replies, where, 0, 100_000)
    said = [said_by.recv() for _ in range(50)]
    writer.kill()
    said += messages(said_by)
    with ResponseStore(where) as store:
        assert all(store.find(paid(n).key) == paid(n).reply for n in said)
        assert sql(store, "SELECT COUNT(*) FROM responses")[0][0] <= len(said) + 1


def call_slowly(_: Connection | None, where: Where, url: str) -> list[str | None]:
    """100 paid calls, at most 60 a second."""
    return asyncio.run(answered(where, url, range(100), rpm=3600))


def test_a_killed_run_resumes_without_asking_for_a_kept_reply_again(new_store: NewStore) -> None:
    where = new_store()
    with hosted(echo) as endpoint:
        for answered in (15, 40):
            run, _ = start(call_slowly, where, endpoint.base_url)
            while not exists(where) or kept(where) < answered:
                time.sleep(0.05)
            run.kill()
            run.join()
            before, sent = set(requests(where)), len(endpoint.bodies)
        texts = call_slowly(None, where, endpoint.base_url)
        asked = [body["messages"][-1]["content"] for body in endpoint.bodies[sent:]]
    assert texts == [f"said hello {n}" for n in range(100)] and 40 <= len(before) < 100
    assert not before & set(asked), "a kept reply was asked for again"
    spent = within(where, ledgers)["default"]
    assert spent.calls >= len(endpoint.bodies) and spent.reserved_tokens == 0, "every request that was sent is booked"


def requests(where: Where) -> list[str]:
    """The last message of each request whose reply is kept."""
    return [json.loads(line)["request"]["messages"][-1]["content"] for line in within(where, export)]


def test_several_processes_create_and_fill_a_store_at_once(new_store: NewStore) -> None:
    where = new_store()
    assert finished([start(write_replies, where, first, first + 50) for first in (0, 30, 60)])
    assert kept(where) == 110


def test_a_database_that_does_not_answer_is_named_without_its_password() -> None:
    pytest.importorskip("psycopg")
    address = "postgresql+psycopg://me:secret-of-mine-1@127.0.0.1:9/none?connect_timeout=2"
    with pytest.raises(StoreError, match=r"127.0.0.1:9/none: response store cannot be used") as caught:
        ResponseStore(address)
    assert (urlsplit(address).password or "?") not in str(caught.value)


def most_in(window: float, times: list[float]) -> int:
    """The largest number of times in any window of this many seconds."""
    return max(sum(start <= later < start + window for later in times) for start in times)


def send_taken(said: Connection, folder: Path, name: str) -> None:
    """Take units of a limit for two seconds, and send the times at which they may be used."""

    async def run() -> list[float]:
        with ResponseStore(folder / "responses.sqlite") as store:
            rate = Rate(store, "endpoint requests", 3000)
            (folder / name).touch()
            while not (folder / "go").exists():
                await asyncio.sleep(0.01)
            until, starts = time.time() + 2.0, list[float]()
            while time.time() < until:
                starts.append(await rate.take(1))
            return starts

    said.send(asyncio.run(run()))


def test_four_processes_keep_to_the_limit_together(tmp_path: Path) -> None:
    names = [f"process {n}" for n in range(4)]
    processes = [start(send_taken, tmp_path, name) for name in names]
    while not all((tmp_path / name).exists() for name in names):
        time.sleep(0.05)
    (tmp_path / "go").touch()
    taken = [said.recv() for _, said in processes]
    starts = [start for each in taken for start in each]
    assert len(starts) > 65 and all(taken), "all of them took part"
    assert most_in(2.0, starts) <= 105, "3,000 a minute are 100 in two seconds, and 5% more at most"


@pytest.mark.parametrize("prices", [{"big-1": PRICE}, {}], ids=["with a price", "without a price"])
def test_equal_requests_of_two_processes_are_sent_once(tmp_path: Path, prices: dict[str, Price]) -> None:
    async def reply(body: Body, number: int) -> Body:
        while not is_greeting(body) and len(endpoint.bodies) - len(asked(endpoint)) < 2:
            await asyncio.sleep(0.01)  # until the other process has asked who answers
        await asyncio.sleep(0 if is_greeting(body) else 0.5)
        return echo(body, number)

    with hosted(reply) as endpoint, ProcessPoolExecutor(2, SERVER) as processes:
        how: dict[str, Any] = {"sending": Sending(timeout_s=60), "prices": prices}
        both = [processes.submit(ask, endpoint.base_url, tmp_path, [chat(0)], **how) for _ in range(2)]
        assert [one.text for done in both for one in done.result()] == ["said hello 0"] * 2
    assert len(asked(endpoint)) == 1
