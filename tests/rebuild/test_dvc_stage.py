"""DVC runs each stage in a process of its own: no entry of dvc.lock is lost, and no command outlives a kill."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
import yaml
from dvc.repo import Repo

from flows.rebuild.dvc_stage import NO_MORE_CALLS, UNCHANGED, command_status
from flows.rebuild.forks import stages_forked
from flows.rebuild.plan import stages_to_run
from flows.repository.lock import read_lock
from flows.repository.pipeline import MAIN
from flows.repository.processes import start_group
from tasks.tracking.lineage import record_is_behind
from tests.support.imports import ROOT

NAMES = ["one", "two", "three", "four"]


RECORD = """
import sys
from pathlib import Path
from flows.repository.lock import read_lock
from tasks.tracking.lineage import read_lineage
Path("lineage.json").write_text(read_lineage(read_lock(Path("dvc.lock"))).as_json())
"""
"""What stage `record` does, without MLflow."""


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A DVC repository whose stages copy an input, fail, or sleep."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    Repo.init(no_scm=True).close()
    stages = {name: {"cmd": f"cat in > {name}", "deps": ["in"], "outs": [name]} for name in NAMES}
    stages["poor"] = {"cmd": f"exit {NO_MORE_CALLS}", "deps": ["in"], "outs": ["rich"]}
    stages["long"] = {"cmd": "touch begun; sleep 60; echo", "deps": ["in"], "outs": ["late"]}
    stages["same"] = {"cmd": "echo the same > same", "deps": ["in"], "outs": ["same"]}
    Path("record.py").write_text(RECORD)
    stages["record"] = {"cmd": f"{sys.executable} record.py", "deps": ["same"], "outs": ["lineage.json"]}
    Path("dvc.yaml").write_text(yaml.safe_dump({"stages": stages}))
    Path("in").write_text("A")
    return tmp_path


def start(name: str) -> "subprocess.Popen[bytes]":
    return start_group([sys.executable, "-m", "flows.rebuild.dvc_stage", f"dvc.yaml:{name}"], {})


def test_stages_that_end_at_once_are_all_in_the_lock(repository: Path) -> None:
    assert [process.wait() for process in [start(name) for name in NAMES]] == [0] * len(NAMES)
    assert set(yaml.safe_load(Path("dvc.lock").read_text())["stages"]) == set(NAMES)
    assert [start(name).wait() for name in NAMES[:2]] == [UNCHANGED] * 2


def test_the_record_follows_a_lineage_whose_outputs_are_the_same(repository: Path) -> None:
    """For DVC the stage is up to date then, or has run before: its run-cache holds an earlier lineage."""
    with stages_forked(2):
        assert [start(name).wait() for name in ("same", "record")] == [0, 0]
        assert start("record").wait() == UNCHANGED
        for text in ("B", "A"):
            Path("in").write_text(text)
            assert start("same").wait() == 0
            assert record_is_behind(read_lock(Path("dvc.lock"))) and stages_to_run(MAIN, ["record"]) == ["record"]
            assert start("record").wait() == 0
            assert not record_is_behind(read_lock(Path("dvc.lock"))) and stages_to_run(MAIN, ["record"]) == []


def test_the_exit_status_of_the_command_is_passed_on(repository: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert start("poor").wait() == NO_MORE_CALLS
    assert f"dvc: failed to reproduce 'poor': failed to run: exit {NO_MORE_CALLS}, exited" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("message", "status"), [("failed to run: x, exited with 3", 3), ("x, exited with -9", 137), ("'a' is missing", 1)]
)
def test_a_command_that_a_signal_ended_has_the_status_of_a_shell(message: str, status: int) -> None:
    assert command_status(message) == status


@pytest.mark.skipif(sys.platform != "linux", reason="PR_SET_PDEATHSIG is of Linux")
def test_killing_the_parent_ends_the_command_of_the_stage(repository: Path) -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", "from tests.rebuild.test_dvc_stage import start; start('long').wait()"]
    )
    while not Path("begun").exists():
        time.sleep(0.05)
    below = psutil.Process(parent.pid).children(recursive=True)
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait()
    _, alive = psutil.wait_procs(below, timeout=5)
    assert len(below) >= 2 and not alive
