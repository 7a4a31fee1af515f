"""Exported replies give the same answers elsewhere without a call, and a changed file is refused."""

import json
from pathlib import Path

import pytest

from flows.commands import cli
from tasks.llm.inspection import imported_identities, open_existing
from tests.llm.test_client import ask, echo, fingerprint
from tests.support.endpoints import chat
from tests.support.hosted import hosted


@pytest.fixture
def exported(tmp_path: Path) -> tuple[str, Path]:
    """The address of a stopped endpoint, and the file of its replies."""
    with hosted(echo) as endpoint:
        ask(endpoint.base_url, tmp_path, [chat(n, "naïve – “quoted”") for n in range(5)])
    file = tmp_path / "replies.jsonl"
    assert cli.run(["store", "export", str(file), "--store", str(tmp_path / "responses.sqlite")]) == 0
    return endpoint.base_url, file


def run_import(file: Path, folder: Path) -> int:
    return cli.run(["store", "import", str(file), "--store", str(folder / "responses.sqlite")])


def test_imported_replies_answer_without_an_endpoint(
    tmp_path: Path, exported: tuple[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    url, file = exported
    clone = tmp_path / "clone"
    assert run_import(file, clone) == 0 and run_import(file, clone) == 0
    assert "5 replies added, 0 were there" in capsys.readouterr().out
    answers = ask(url, clone, [chat(n, "naïve – “quoted”") for n in range(5)], fingerprint=fingerprint(url))
    assert [answer.text for answer in answers] == [f"said naïve – “quoted” {n}" for n in range(5)]
    again = tmp_path / "again.jsonl"
    assert cli.run(["store", "export", str(again), "--store", str(clone / "responses.sqlite")]) == 0
    assert again.read_text() == file.read_text()


def test_replies_that_come_home_do_not_count_as_imported(tmp_path: Path, exported: tuple[str, Path]) -> None:
    _, file = exported
    clone = tmp_path / "clone"
    assert run_import(file, tmp_path) == 0 and run_import(file, clone) == 0
    found = [imported_identities(open_existing(folder / "responses.sqlite")) for folder in (tmp_path, clone)]
    assert found[0] == set() and len(found[1]) == 1


@pytest.mark.parametrize(
    ("field", "value", "problem"),
    [
        ("request", {"model": "big-1", "messages": [], "seed": 0}, "line 3: the request is not the one that its key"),
        ("identity", "another.0", "line 3: the request is not the one that its key"),
        ("reply", {"error": "none"}, "line 3: not a line of `vignette store export`"),
        ("tokens", 5, "line 3: not a line of `vignette store export`"),
    ],
)
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
    assert cli.run(["store", "show", "--store", str(tmp_path / "clone" / "responses.sqlite")]) == 0
    assert "replies" not in capsys.readouterr().out
