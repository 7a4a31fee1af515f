"""Measurements of stage runs are found by the content of the outputs."""

import hashlib
from pathlib import Path

import pytest

from flows.repository.kept_runs import find_run, keep_run, used_keys
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
