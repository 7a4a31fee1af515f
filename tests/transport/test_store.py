"""Committed replies survive kills, concurrent processes and full disks, and the store can be inspected."""

import asyncio
import json
import sqlite3
import threading
from pathlib import Path

import pytest
import sqlalchemy as sa

from flows.commands import parser
from schemas.errors import StoreError
from tasks.llm.costs import Used
from tasks.transport import inspection
from tasks.transport.inspection import Checked, check, export, sum_used
from tasks.transport.store import ResponseStore
from tests.support.hosted import hosted
from tests.support.scenarios import echo, run_stage
from tests.support.stored import fill, kept, paid, sql, within


def test_a_failing_operation_takes_no_other_with_it(tmp_path: Path) -> None:
    def fail(connection: sa.Connection) -> None:
        raise ValueError("no")

    async def run() -> list[object]:
        with ResponseStore(tmp_path / "s.sqlite") as store:
            jobs = [store.do(paid(n).insert) for n in range(50)] + [store.do(fail)]
            return await asyncio.gather(*jobs, return_exceptions=True)

    results = asyncio.run(run())
    assert results[:50] == [True] * 50 and isinstance(results[50], ValueError)
    assert kept(tmp_path / "s.sqlite") == 50


def test_a_full_disk_is_an_error_that_names_the_file(tmp_path: Path) -> None:
    async def run() -> None:
        with ResponseStore(tmp_path / "s.sqlite") as store:
            store._writer.exec_driver_sql("PRAGMA max_page_count = 20")
            for n in range(500):
                await store.do(paid(n).insert)

    with pytest.raises(StoreError, match=r"s\.sqlite: response store cannot be used \(database or disk is full\)"):
        asyncio.run(run())


def test_chosen_replies_are_exported_in_their_order(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    fill(path, paid(1), paid(2, stage="span"), paid(3, identity="old.0"))
    lines = [json.loads(line) for line in within(path, export, "write")]
    assert [line["reply"]["choices"][0]["message"]["content"] for line in lines] == ["reply 1", "reply 3"]
    assert lines[0]["request"]["messages"][0]["content"] == "1" and lines[0]["dollars"] == 0.5
    assert within(path, export, None, "judge") == [] and len(within(path, export, None, "writer")) == 3
    assert parser.run(["store", "export", "--store", str(path), str(tmp_path / "out.jsonl")]) == 0
    assert len((tmp_path / "out.jsonl").read_text().splitlines()) == 3


def test_a_new_store_is_opened_while_another_process_prepares_it(tmp_path: Path) -> None:
    """sqlite does not wait for its lock where a connection turns on write-ahead logging of a new file."""
    other = sqlite3.connect(tmp_path / "s.sqlite", isolation_level=None, check_same_thread=False)
    other.execute("CREATE TABLE made (first)")
    other.execute("BEGIN IMMEDIATE")
    release = threading.Timer(0.2, other.execute, ["COMMIT"])
    release.start()
    with ResponseStore(tmp_path / "s.sqlite") as store:
        assert release.finished.is_set() and store.find(b"none") is None
    other.close()


def test_each_kept_reply_counts_once_and_a_missing_one_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inspection, "AT_ONCE", 2)  # several statements
    with ResponseStore(tmp_path / "s.sqlite") as store:
        for number in range(6):
            store.do_now(paid(number).insert)
        keys = {paid(number).key for number in (0, 1, 2, 3, 4)} | {b"?" * 32}
        assert store.do_now(lambda c: sum_used(c, keys)) == Used(5, 50, 100, pytest.approx(2.5))
        assert store.do_now(lambda c: sum_used(c, [])) == Used(0, 0, 0, 0.0)


def test_an_empty_store_is_whole_and_nothing_was_paid_for_it(tmp_path: Path) -> None:
    with ResponseStore(tmp_path / "s.sqlite") as store:
        assert store.do_now(check) == Checked([], 0, [], 0.0, 0.0)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ("DROP TABLE layout", "of layout 0.*export its replies"),
        ("UPDATE layout SET number = 2", "of layout 2.*export its replies"),
        ("UPDATE layout SET number = 99", "of layout 99.*update"),
    ],
)
def test_another_layout_is_named_before_anything_is_asked(tmp_path: Path, change: str, problem: str) -> None:
    path = tmp_path / "responses.sqlite"
    fill(path)
    sql(path, change)
    with hosted(echo) as endpoint:
        with pytest.raises(StoreError, match=f"responses.sqlite: a response store {problem}"):
            run_stage(endpoint, tmp_path)
        assert endpoint.bodies == []
