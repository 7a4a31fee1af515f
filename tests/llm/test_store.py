"""Committed replies survive kills, concurrent processes and full disks, and the store can be inspected."""

import asyncio
import json
import sqlite3
import threading
from pathlib import Path

import pytest

from flows.commands import cli
from schemas.errors import StoreError
from tasks.llm.database import transaction
from tasks.llm.inspection import Which, count, export, holdings, open_existing, prune
from tasks.llm.store import ResponseStore
from tests.support.children import finished, messages, start, write_replies
from tests.support.stored import fill, paid


def test_a_reply_is_found_once_it_is_committed(tmp_path: Path) -> None:
    async def run() -> None:
        with ResponseStore(tmp_path / "s.sqlite") as store:
            reply = paid(1)
            assert store.find(reply.key) is None
            assert await store.do(reply.insert) is True
            assert store.find(reply.key) == reply.reply
            assert await store.do(reply.insert) is False, "a second copy changes nothing"

    asyncio.run(run())


def test_many_writes_share_few_transactions(tmp_path: Path) -> None:
    begun = 0

    async def run() -> None:
        nonlocal begun
        with ResponseStore(tmp_path / "s.sqlite") as store:

            def count_begins(statement: str) -> None:
                nonlocal begun
                begun += statement.startswith("BEGIN")

            store._writer.set_trace_callback(count_begins)
            await asyncio.gather(*(store.do(paid(n).insert) for n in range(2000)))

    asyncio.run(run())
    assert begun < 200
    assert count(open_existing(tmp_path / "s.sqlite"), Which()) == 2000


def test_a_failing_operation_takes_no_other_with_it(tmp_path: Path) -> None:
    def fail(connection: sqlite3.Connection) -> None:
        raise ValueError("no")

    async def run() -> list[object]:
        with ResponseStore(tmp_path / "s.sqlite") as store:
            jobs = [store.do(paid(n).insert) for n in range(50)] + [store.do(fail)]
            return await asyncio.gather(*jobs, return_exceptions=True)

    results = asyncio.run(run())
    assert results[:50] == [True] * 50 and isinstance(results[50], ValueError)
    assert count(open_existing(tmp_path / "s.sqlite"), Which()) == 50


def test_committed_replies_survive_a_kill(tmp_path: Path) -> None:
    writer, said_by = start(write_replies, tmp_path / "s.sqlite", 0, 100_000)
    said = [said_by.recv() for _ in range(50)]
    writer.kill()
    said += messages(said_by)
    with ResponseStore(tmp_path / "s.sqlite") as store:
        assert all(store.find(paid(n).key) == paid(n).reply for n in said)
        assert store.do_now(lambda c: c.execute("PRAGMA integrity_check").fetchone())[0] == "ok"


def test_several_processes_write_at_once(tmp_path: Path) -> None:
    assert finished([start(write_replies, tmp_path / "s.sqlite", first, first + 50) for first in (0, 30, 60)])
    assert count(open_existing(tmp_path / "s.sqlite"), Which()) == 110


def test_a_full_disk_is_an_error_that_names_the_file(tmp_path: Path) -> None:
    async def run() -> None:
        with ResponseStore(tmp_path / "s.sqlite") as store:
            store._writer.execute("PRAGMA max_page_count = 20")
            for n in range(500):
                await store.do(paid(n).insert)

    with pytest.raises(StoreError, match=r"s\.sqlite: response store cannot be written \(database or disk is full\)"):
        asyncio.run(run())


def test_a_file_that_is_no_store_is_named(tmp_path: Path) -> None:
    (tmp_path / "s.sqlite").write_text("this is not a database, but it is long enough to look like one" * 20)
    with pytest.raises(StoreError, match=r"s\.sqlite: not a usable response store"):
        ResponseStore(tmp_path / "s.sqlite")


def test_a_transaction_is_whole_or_nothing(tmp_path: Path) -> None:
    with ResponseStore(tmp_path / "s.sqlite") as store:
        with pytest.raises(RuntimeError), transaction(store._reader, store.path):
            paid(1).insert(store._reader)
            raise RuntimeError
        assert store.find(paid(1).key) is None


def test_export_prune_and_show(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "s.sqlite"
    fill(path, paid(1), paid(2, stage="span"), paid(3, identity="old.0"))
    lines = [json.loads(line) for line in export(open_existing(path), Which(stage="write"))]
    assert [line["reply"]["choices"][0]["message"]["content"] for line in lines] == ["reply 1", "reply 3"]
    assert lines[0]["request"]["messages"][0]["content"] == "1" and lines[0]["dollars"] == 0.5
    assert {(held.stage, held.identity): held.replies for held in holdings(open_existing(path))} == {
        ("write", "abc.0"): 1,
        ("span", "abc.0"): 1,
        ("write", "old.0"): 1,
    }
    assert cli.run(["store", "show", "--store", str(path)]) == 0
    assert "span             writer     m (abc.0): 1 replies, 10 + 20 tokens, 0.5000 dollars" in capsys.readouterr().out
    assert cli.run(["store", "prune", "--store", str(path), "--stage", "span"]) == 0
    assert "1 of 3 replies match; repeat with --yes" in capsys.readouterr().out
    assert cli.run(["store", "prune", "--store", str(path), "--stage", "span", "--yes"]) == 0
    assert prune(open_existing(path), Which(other_than=["abc.0"]), path) == 1
    assert count(open_existing(path), Which()) == 1
    assert cli.run(["store", "export", "--store", str(path), str(tmp_path / "out.jsonl")]) == 0
    assert len((tmp_path / "out.jsonl").read_text().splitlines()) == 1


def test_pruning_by_date_keeps_newer_replies(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    fill(path, paid(1), paid(2))
    with transaction(connection := open_existing(path), path):
        connection.execute("UPDATE responses SET created = '2020-05-01T00:00:00Z' WHERE id = 1")
    assert count(connection, Which(before="2021-01-01")) == 1


def test_a_missing_store_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["store", "show", "--store", str(tmp_path / "none.sqlite")]) == 1
    assert "no response store yet" in capsys.readouterr().err


def test_a_new_store_is_opened_while_another_process_prepares_it(tmp_path: Path) -> None:
    """sqlite does not wait for its lock where a connection turns on write-ahead logging of a new file."""
    other = sqlite3.connect(tmp_path / "s.sqlite", isolation_level=None, check_same_thread=False)
    other.execute("CREATE TABLE made (first)")
    other.execute("BEGIN IMMEDIATE")
    release = threading.Timer(0.2, other.execute, ["COMMIT"])
    release.start()
    with ResponseStore(tmp_path / "s.sqlite") as store:
        assert release.finished.is_set() and store.find("none") is None
    other.close()
