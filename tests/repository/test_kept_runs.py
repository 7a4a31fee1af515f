"""Measurements of stage runs are found by the content of the outputs."""

import asyncio
import hashlib
import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from flows.repository.kept_runs import find_run, keep_run, used_keys
from flows.repository.params import load_params
from flows.repository.pipeline import StageFiles
from flows.runtime.chunks import worth_retrying
from flows.runtime.stage import Stage
from schemas.errors import BudgetError
from tasks.tracking.lineage import StageLineage, StageRun

RUN = StageRun(12.5, {"notes": 1000}, 3, 200, 9000, 800, 0.25)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("VIGNETTE_WORKSPACE", str(tmp_path / "state"))
    return tmp_path


def made(folder: Path, content: str) -> tuple[list[Path], StageLineage]:
    """An output with ``content``, and the stage of a lineage that has it."""
    file = folder / "notes.parquet"
    file.write_text(content)
    outs = {file.as_posix(): hashlib.md5(content.encode()).hexdigest(), (folder / "forms").as_posix(): "0.dir"}
    return [file, folder / "forms"], StageLineage("write", outs=outs)


def test_a_run_is_found_by_the_outputs_that_it_made(folder: Path) -> None:
    outs, stage = made(folder, "model A")
    keep_run("write", outs, RUN, {b"a" * 32, b"b" * 32})
    outs, other = made(folder, "model B")
    keep_run("write", outs, StageRun(1.0), set())
    assert find_run(stage) == RUN and used_keys([stage]) == {b"a" * 32, b"b" * 32}
    assert find_run(other) == StageRun(1.0) and used_keys([other]) == set()


@pytest.mark.parametrize(
    ("error", "retried"),
    [
        (BudgetError("cap"), False),
        (ExceptionGroup("tasks", [ValueError("x"), ExceptionGroup("inner", [BudgetError("cap")])]), False),
        (OSError("disk"), True),
        (ExceptionGroup("tasks", [OSError("disk")]), True),
    ],
)
def test_no_error_that_names_its_cause_is_retried(error: Exception, retried: bool) -> None:
    async def aresult(*, raise_on_failure: bool) -> Exception:
        return error

    assert asyncio.run(worth_retrying(None, None, SimpleNamespace(aresult=aresult))) is retried


def test_a_returned_file_of_older_notes_is_skipped_with_a_message(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, form in (("a.json", "new"), ("b.json", "old")):
        (tmp_path / name).write_text(json.dumps({"form": form}))
    (tmp_path / "c.json").write_text("not JSON")
    stage = Stage(StageFiles("review", {"review_returned": tmp_path}, {}), load_params())
    assert list(stage.returned("review_returned", "new")) == ["a.json", "c.json"]  # reading c names what is wrong
    assert "b.json was filled in for form old, the current one is new: skipped" in capsys.readouterr().err
