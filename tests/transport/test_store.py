"""Committed replies survive kills, concurrent processes and full disks, and the store can be inspected."""

import asyncio
import json
import sqlite3
import threading
import zlib
from pathlib import Path

import pytest
import sqlalchemy as sa
from starlette.responses import Response

from flows.commands import parser
from schemas.errors import StoreError
from tasks.llm.costs import Used
from tasks.transport import inspection
from tasks.transport.inspection import export, imported_identities, sum_used
from tasks.transport.store import ResponseStore, pack
from tests.support.cases import from_table
from tests.support.endpoints import chat
from tests.support.hosted import completion, hosted
from tests.support.scenarios import Scenario, ask, echo, run_stage, says
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


def test_what_is_no_store_keeps_its_mode(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "notes.csv").write_text("id,source\n1,Dry cough.\n")
    for file in (tmp_path / "notes.csv", Path("/dev/null")):
        mode = file.stat().st_mode
        assert parser.run(["store", "ledger", "--store", str(file)]) == 1 and str(file) in capsys.readouterr().err
        assert file.stat().st_mode == mode, "root owns the devices of all users"


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


@pytest.fixture
def exported(tmp_path: Path) -> tuple[str, Path]:
    """The address of a stopped endpoint, and the file of its replies."""
    with hosted(echo) as endpoint:
        ask(endpoint.base_url, tmp_path, [chat(n, "naïve – “quoted”") for n in range(5)])
    file = tmp_path / "replies.jsonl"
    assert parser.run(["store", "export", str(file), "--store", str(tmp_path / "responses.sqlite")]) == 0
    return endpoint.base_url, file


def run_import(file: Path, folder: Path) -> int:
    return parser.run(["store", "import", str(file), "--store", str(folder / "responses.sqlite")])


def test_imported_replies_answer_without_an_endpoint(
    tmp_path: Path, exported: tuple[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    url, file = exported
    clone = tmp_path / "clone"
    assert run_import(file, clone) == 0 and run_import(file, clone) == 0
    assert "5 replies added, already there: 0" in capsys.readouterr().out
    answers = ask(url, clone, [chat(n, "naïve – “quoted”") for n in range(5)])
    assert [answer.text for answer in answers] == [f"said naïve – “quoted” {n}" for n in range(5)]
    again = tmp_path / "again.jsonl"
    assert parser.run(["store", "export", str(again), "--store", str(clone / "responses.sqlite")]) == 0
    assert again.read_text() == file.read_text()


def test_half_of_a_character_in_a_reply_is_exported_and_imported(tmp_path: Path) -> None:
    file, clone = tmp_path / "r.jsonl", tmp_path / "clone"
    Scenario(lambda body, _: Response(json.dumps(completion("a\ud800", body)))).play(tmp_path)
    assert parser.run(["store", "export", str(file), "--store", str(tmp_path / "responses.sqlite")]) == 0
    assert "a\\ud800" in file.read_text() and run_import(file, clone) == 0
    assert kept(clone / "responses.sqlite") == 4


def test_replies_that_come_home_do_not_count_as_imported(tmp_path: Path, exported: tuple[str, Path]) -> None:
    _, file = exported
    clone = tmp_path / "clone"
    assert run_import(file, tmp_path) == 0 and run_import(file, clone) == 0
    found = [imported_identities(folder / "responses.sqlite") for folder in (tmp_path, clone)]
    assert found[0] == set() and len(found[1]) == 1


@from_table
def test_a_changed_line_is_refused_and_nothing_is_imported(
    tmp_path: Path,
    exported: tuple[str, Path],
    capsys: pytest.CaptureFixture[str],
    field: str,
    value: object,
    problem: str,
) -> None:
    _, file = exported
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    lines[2][field] = value
    file.write_text("\n".join(json.dumps(line) for line in lines))
    assert run_import(file, tmp_path / "clone") == 1
    assert problem in capsys.readouterr().err
    assert kept(tmp_path / "clone" / "responses.sqlite") == 0


def damage(path: Path, content: bytes) -> None:
    """Overwrite a page in the middle of the file, as a failing disk does."""
    with path.open("r+b") as file:
        file.seek(path.stat().st_size // 2 // 4096 * 4096)
        file.write(content * 8192)


def test_a_damaged_page_is_named_with_its_file_and_remedy(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "s.sqlite"
    fill(path, *(paid(n) for n in range(400)))
    damage(path, b"\xff")
    expected = r"s\.sqlite: response store cannot be used \(.*malformed.*damaged: put back a copy"
    with ResponseStore(path) as store, pytest.raises(StoreError, match=expected):
        for n in range(400):
            store.find(paid(n).key)
    for command in ("check", "export"):
        assert parser.run(["store", command, "--store", str(path)]) == 1
        problem = capsys.readouterr().err
        assert "s.sqlite" in problem and "damaged" in problem and problem.count("\n") == 1


@pytest.mark.parametrize("spoiled", [b"no zlib", zlib.compress(b"\xff\xfe"), pack(b"no JSON"), pack(b"[" * 10**6)])
def test_a_reply_that_cannot_be_read_is_dropped_counted_and_asked_for_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], spoiled: bytes
) -> None:
    path = tmp_path / "responses.sqlite"
    with hosted(echo) as endpoint:
        run_stage(endpoint, tmp_path)
        sql(path, "UPDATE responses SET reply = :spoiled WHERE id IN (2, 4)", spoiled=spoiled)
        assert parser.run(["store", "check", "--store", str(path)]) == 1
        assert "2 replies cannot be read; delete them with --drop" in capsys.readouterr().err
        sent = len(endpoint.bodies)
        assert all(run_stage(endpoint, tmp_path))
        assert len(endpoint.bodies) == sent + 3, "the check of identity and two calls"
    assert "doclens: 2 kept replies could not be read, asked for again" in capsys.readouterr().err
    assert parser.run(["store", "check", "--store", str(path)]) == 0


def test_a_check_compares_rows_with_their_keys_and_the_ledgers_and_drops_what_is_wrong(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Scenario(says("x")).play(tmp_path)
    store = ["--store", str(tmp_path / "responses.sqlite")]
    assert parser.run(["store", "check", *store]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "4 replies, of which 0 cannot be read",
        "0.0800 dollars paid for them, 0.1000 in all ledgers",
    ]
    assert parser.run(["store", "ledger", "default", "--dollars", "0", *store]) == 0
    sql(tmp_path / "responses.sqlite", "UPDATE responses SET identity = 'another.0' WHERE id = 1")
    assert parser.run(["store", "check", "--drop", *store]) == 0
    out = capsys.readouterr().out
    assert "the ledgers hold less than the replies cost" in out and "1 replies deleted" in out
    assert kept(tmp_path / "responses.sqlite") == 3


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
