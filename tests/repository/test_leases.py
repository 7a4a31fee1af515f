"""Outputs of a stage are written only by the run that holds its lease; orphans of former runs are ended."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
import yaml
from dvc.repo import Repo

from flows.rebuild.plan import require_as_locked
from flows.repository.processes import end_group, exclusive, stage_lease, start_group
from flows.runtime.tables import write_atomically, write_folder
from schemas.errors import BusyError, OrphanError, TableError
from tasks.transport.processes import RUN, is_alive
from tests.support.imports import ROOT

MAIN = Path("dvc.yaml")
STAGE = """
import time
from pathlib import Path
from flows.repository.processes import stage_lease
from flows.runtime.tables import write_atomically
with stage_lease(Path("dvc.yaml"), "slow"):
    Path("begun").touch()
    time.sleep(float(Path("seconds").read_text()))
    write_atomically(Path("out"), lambda to: to.write_text("of the orphan"))
"""

PARENT = """
import signal, subprocess, sys
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # under nohup, which the tests may run under, a stage depends on nobody
process = subprocess.Popen([sys.executable, "-c", sys.argv[1]])
print(process.pid)
process.wait()
"""


@pytest.fixture(autouse=True)
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty clone."""
    (tmp_path / ".dvc" / "tmp").mkdir(parents=True)
    (tmp_path / "pyproject.toml").symlink_to(ROOT / "pyproject.toml")
    monkeypatch.setenv("DVC_ROOT", str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def running() -> Iterator["subprocess.Popen[bytes]"]:
    """A process that holds the lease of stage ``slow``, of a run that is this process."""
    Path("seconds").write_text("60")
    me = psutil.Process()
    environment = {**os.environ, RUN: f"{me.pid}:{me.create_time()}"}
    process = subprocess.Popen([sys.executable, "-c", STAGE], env=environment)
    wait_for(Path("begun"))
    yield process
    process.kill()
    process.wait()


def wait_for(file: Path) -> None:
    deadline = time.monotonic() + 60
    while not file.exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_stage_that_was_taken_over_moves_nothing_into_place(clone: Path) -> None:
    (clone / "out").write_text("of the next run")
    (clone / "folder").mkdir()
    (clone / "folder" / "out").write_text("of the next run")
    with stage_lease(MAIN, "slow"):
        write_atomically(clone / "mine", lambda to: to.write_text("mine"))
        (lease,) = Path(".dvc/tmp/stages").iterdir()
        lease.unlink()  # as a run on another machine does, where this process is unknown
        with pytest.raises(OrphanError, match="taken stage slow over"):
            write_atomically(clone / "out", lambda to: to.write_text("of the orphan"))
        with pytest.raises(OrphanError, match="taken stage slow over"):
            write_folder(clone / "folder", {"out": b"of the orphan"})
    assert (clone / "mine").read_text() == "mine"
    assert (clone / "out").read_text() == (clone / "folder" / "out").read_text() == "of the next run"
    assert not list(clone.rglob("*.partial"))


def test_a_run_waits_for_no_living_stage_of_somebody_else(running: "subprocess.Popen[bytes]") -> None:
    message = f"stage slow runs in process {running.pid}; wait for it or stop it"
    with pytest.raises(BusyError, match=message), exclusive():
        pass
    with pytest.raises(BusyError, match=message), stage_lease(MAIN, "slow"):
        pass
    with stage_lease(MAIN, "other"):
        assert running.poll() is None


@pytest.mark.parametrize("taking", ["run", "stage"])
def test_an_orphan_is_ended_by_who_comes_next(clone: Path, taking: str) -> None:
    Path("seconds").write_text("60")
    parent = subprocess.Popen([sys.executable, "-uc", PARENT, STAGE], stdout=subprocess.PIPE)
    orphan = psutil.Process(int(parent.stdout.readline()))
    wait_for(Path("begun"))
    parent.kill()
    parent.wait()
    born = orphan.create_time()
    assert is_alive(orphan.pid, born)
    with exclusive() if taking == "run" else stage_lease(MAIN, "slow"):
        assert not is_alive(orphan.pid, born), "though it may be that nobody reaps it"
        write_atomically(clone / "out", lambda to: to.write_text("of the next run"))
    assert (clone / "out").read_text() == "of the next run"


def test_a_stage_that_starts_after_its_run_was_killed_does_not_begin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(RUN, f"{2**22 + 1}:1.0")
    message = r"vignette repro \(process \d+\), which started this stage, is gone"
    with pytest.raises(OrphanError, match=message), stage_lease(MAIN, "slow"):
        pass


DEAD = '{"stage": "slow", "pid": 4194305, "born": 1, "depends_on": []}'


@pytest.mark.parametrize("content", ["", "{", "[1]", '{"stage": "slow"}', DEAD])
def test_a_lease_that_a_kill_left_is_no_obstacle(content: str) -> None:
    folder = Path(".dvc/tmp/stages")
    folder.mkdir()
    for lease in ("dvc.yaml%3Aslow", "dvc.yaml%3Aother"):
        (folder / lease).write_text(content)
    with stage_lease(MAIN, "slow"):
        pass
    with exclusive():
        assert list(folder.iterdir()) == []


def test_a_stage_whose_dvc_was_killed_is_ended_with_its_group() -> None:
    command = "import subprocess as s, time; s.Popen(['sleep', '60']); open('begun', 'w').close(); time.sleep(60)"
    leader = start_group([sys.executable, "-c", command], {})
    wait_for(Path("begun"))
    (below,) = psutil.Process(leader.pid).children()
    leader.kill()
    leader.wait()
    assert below.is_running()
    end_group(leader)
    below.wait(timeout=5)


def test_outputs_that_another_process_wrote_are_named_at_the_end_of_a_run(clone: Path) -> None:
    (clone / ".dvc").joinpath("config").write_text("[core]\n    no_scm = true\n")
    stages = {name: {"cmd": f"echo 1 > {name}", "outs": [name]} for name in ("one", "two")}
    MAIN.write_text(yaml.safe_dump({"stages": stages}))
    with Repo() as repo:
        repo.reproduce()
    require_as_locked(MAIN, ["one", "two"])
    Path("two").unlink()  # a link to the cache
    Path("two").write_text("of the orphan")
    require_as_locked(MAIN, ["one"])
    with pytest.raises(TableError, match=r"other outputs than are on disk: two \(modified\).*run again"):
        require_as_locked(MAIN, ["one", "two"])
