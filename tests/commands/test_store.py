"""`vignette store` exports and imports replies, checks them, and drops those that are damaged."""

import json
import zlib
from pathlib import Path

import pytest
from starlette.responses import Response

from flows.commands import parser
from schemas.errors import StoreError
from tasks.transport.inspection import imported_identities
from tasks.transport.store import ResponseStore, pack
from tests.support.cases import from_table
from tests.support.endpoints import chat
from tests.support.hosted import completion, hosted
from tests.support.scenarios import Scenario, ask, but_for_greeting, echo, run_stage, says
from tests.support.stored import fill, kept, paid, sql


def test_what_is_no_store_keeps_its_mode(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "notes.csv").write_text("id,source\n1,Dry cough.\n")
    for file in (tmp_path / "notes.csv", Path("/dev/null")):
        mode = file.stat().st_mode
        assert parser.run(["store", "ledger", "--store", str(file)]) == 1 and str(file) in capsys.readouterr().err
        assert file.stat().st_mode == mode, "root owns the devices of all users"


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


def test_the_ledger_shows_what_is_estimated_and_can_be_set_to_the_providers_figure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Scenario(but_for_greeting(lambda *_: Response("no JSON")), 1, ok=0, failure="no chat completion").play(tmp_path)
    store = ["--store", str(tmp_path / "responses.sqlite")]
    for named in ([], ["default"]):
        assert parser.run(["store", "ledger", *named, *store]) == 0
        assert "3 calls, of which 2 of unknown outcome" in capsys.readouterr().out, "a name alone sets nothing"
    for given, said in ((["defalt"], "did you mean default"), (["--dollars", "1"], "name the ledger")):
        assert parser.run(["store", "ledger", *given, *store]) == 1 and said in capsys.readouterr().err
    assert parser.run(["store", "ledger", "default", "--dollars", "0.03", *store]) == 0
    assert "ledger default: 0.0300 dollars, 0 tokens, 0 calls" in capsys.readouterr().out
