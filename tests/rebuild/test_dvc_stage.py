"""DVC runs each stage in a process of its own: no entry of dvc.lock is lost, and no command outlives a kill."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
import yaml
from dvc.repo import Repo

from flows.rebuild import forks
from flows.rebuild.dvc_stage import NO_MORE_CALLS, UNCHANGED, command_status
from flows.rebuild.plan import stages_to_run
from flows.repository.lock import read_lock
from flows.repository.pipeline import MAIN
from flows.repository.processes import start_group
from tasks.tracking.lineage import read_lineage, record_is_behind
from tests.support.imports import ROOT

PYTHON = ("env", "-u", "PYTEST_CURRENT_TEST", sys.executable)
SERVER = """
import socket, sys
from flows.commands.forks import MODULES
from flows.rebuild import dvc_stage, forks
_, arguments = forks.serve(socket.socket(fileno=int(sys.argv[1])), [name for name in MODULES if "dvc" in name])
sys.exit(dvc_stage.main(*arguments))
"""
"""Forks that have imported DVC, and nothing of stages."""
NAMES = ["one", "two", "three"]


@pytest.fixture(scope="module")
def forked() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(ROOT))
        patch.setattr(forks, "COMMAND", [*PYTHON, "-c", SERVER])
        with forks.stages_forked(2):
            yield


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A DVC repository whose stages copy an input, fail, sleep, write the same, or depend on params and on forms."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    Repo.init(no_scm=True).close()
    stages: dict[str, Any] = {name: {"cmd": f"cat in > {name}", "deps": ["in"], "outs": [name]} for name in NAMES}
    stages |= {
        "poor": {"cmd": f"exit {NO_MORE_CALLS}", "deps": ["in"], "outs": ["rich"]},
        "long": {"cmd": "touch begun; sleep 60; echo", "deps": ["in"], "outs": ["late"]},
        "same": {"cmd": "echo the same > same", "deps": ["in"], "outs": ["same"]},
        "record": {"cmd": "cat lineage > lineage.json", "deps": ["same"], "outs": ["lineage.json"]},
        "sample": {"cmd": "cat params.yaml > sampled", "params": ["records"], "outs": ["sampled"]},
        "review": {
            "cmd": "cat sampled forms/* | tee reviewed > review.csv",
            "deps": ["sampled", "forms"],
            "outs": ["reviewed", {"review.csv": {"cache": False}}],
        },
        "report": {"cmd": "cat review.csv > page", "deps": ["review.csv"], "outs": ["page"]},
    }
    for name in ("sample", "review", "report"):
        stages[name]["cmd"] += f"; echo {name} >> ran"
    MAIN.write_text(yaml.safe_dump({"stages": stages}))
    Path("in").write_text("A")
    Path("forms").mkdir()
    Path("forms/.gitkeep").touch()
    return tmp_path


def start(name: str) -> "subprocess.Popen[bytes]":
    return start_group([*PYTHON, "-m", "flows.rebuild.dvc_stage", f"dvc.yaml:{name}"], {})


def test_stages_that_end_at_once_are_all_in_the_lock(repository: Path, forked: None) -> None:
    assert [process.wait() for process in [start(name) for name in NAMES]] == [0] * len(NAMES)
    assert set(read_lock(Path("dvc.lock"))["stages"]) == set(NAMES)
    assert start("one").wait() == UNCHANGED


def test_the_record_follows_a_lineage_whose_outputs_are_the_same(repository: Path, forked: None) -> None:
    """For DVC the stage is up to date then, or has run before: its run-cache holds an earlier lineage."""

    def record() -> int:
        Path("lineage").write_text(read_lineage(read_lock(Path("dvc.lock"))).as_json())
        return start("record").wait()

    assert [start("same").wait(), record(), record()] == [0, 0, UNCHANGED]
    for text in ("B", "A"):
        Path("in").write_text(text)
        assert start("same").wait() == 0 and record_is_behind(read_lock(Path("dvc.lock")))
        assert text == "A" or stages_to_run(MAIN, ["record"]) == ["record"]
        assert record() == 0 and not record_is_behind(read_lock(Path("dvc.lock")))


def stages_run(records: int) -> list[str]:
    """Rebuild with that many records; returns the stages whose command ran."""
    Path("params.yaml").write_text(f"records: {records}\n")
    Path("ran").unlink(missing_ok=True)
    for name in ("sample", "review", "report"):
        assert start(name).wait() in (0, UNCHANGED)
    return Path("ran").read_text().split() if Path("ran").exists() else []


def test_going_back_to_former_params_runs_only_what_depends_on_a_form_imported_since(
    repository: Path, forked: None
) -> None:
    """DVC's run-cache has the outputs of each stage, also those that git tracks."""
    assert stages_run(1000) == ["sample", "review", "report"]
    before = {path: path.read_text() for path in (Path("page"), Path("review.csv"))}
    assert stages_run(10) == ["sample", "review", "report"]
    assert stages_run(1000) == []
    assert {path: path.read_text() for path in before} == before
    Path("forms/a.json").write_text("a form")
    assert stages_run(1000) == ["review", "report"]


def test_the_exit_status_of_the_command_is_passed_on(
    repository: Path, forked: None, capfd: pytest.CaptureFixture[str]
) -> None:
    assert start("poor").wait() == NO_MORE_CALLS
    assert f"dvc: failed to reproduce 'poor': failed to run: exit {NO_MORE_CALLS}, exited" in capfd.readouterr().err
    assert [command_status(said) for said in ("x, exited with -9", "'a' is missing")] == [137, 1], "as of a shell"


@pytest.mark.skipif(sys.platform != "linux", reason="PR_SET_PDEATHSIG is of Linux")
def test_killing_the_parent_ends_the_command_of_the_stage(repository: Path) -> None:
    code = "import sys; from flows.repository.processes import start_group; start_group(sys.argv[1:], {}).wait()"
    step = [sys.executable, "-m", "flows.rebuild.dvc_stage", "dvc.yaml:long"]
    environment = {name: value for name, value in os.environ.items() if name != forks.SOCKET}
    parent = subprocess.Popen([sys.executable, "-c", code, *step], env=environment)
    while not Path("begun").exists():
        time.sleep(0.05)
    below = psutil.Process(parent.pid).children(recursive=True)
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait()
    _, alive = psutil.wait_procs(below, timeout=5)
    assert len(below) >= 2 and not alive
