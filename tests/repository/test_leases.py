"""A stage runs only while it holds its lease; the next run waits for what a killed one left."""

import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from flows.repository import processes
from flows.repository.processes import end_group, exclusive, stage_lease, start_group
from schemas.errors import BusyError
from tasks.transport.processes import is_alive
from tests.support.imports import ROOT

MAIN = Path("dvc.yaml")
STAGE = """
import signal, time
from pathlib import Path
from flows.repository.processes import stage_lease
from tasks.transport.processes import end_with_parent
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # under nohup, which the tests may run under, a stage depends on nobody
end_with_parent()
with stage_lease(Path("dvc.yaml"), "slow"):
    Path("begun").touch()
    time.sleep(60)
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


def wait_for(file: Path) -> None:
    deadline = time.monotonic() + 60
    while not file.exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_run_waits_for_no_living_stage_of_somebody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    running = subprocess.Popen([sys.executable, "-c", STAGE])
    wait_for(Path("begun"))
    monkeypatch.setattr(processes, "END_S", 0.2)
    for taking in (exclusive(), stage_lease(MAIN, "slow")):
        with (
            pytest.raises(BusyError, match=f"stage slow runs in process {running.pid}; wait for it or stop it"),
            taking,
        ):
            pass
    with stage_lease(MAIN, "other"):
        assert running.poll() is None
    running.kill()
    running.wait()
    with exclusive(), stage_lease(MAIN, "slow"):
        pass


def test_a_run_waits_for_what_a_killed_one_left() -> None:
    command = "import subprocess, sys; subprocess.run([sys.executable, '-c', sys.argv[1]])"
    parent = subprocess.Popen([sys.executable, "-c", command, STAGE])
    wait_for(Path("begun"))
    (orphan,) = psutil.Process(parent.pid).children()
    parent.kill()
    parent.wait()
    assert is_alive(orphan.pid, orphan.create_time() - psutil.boot_time())
    with exclusive():
        assert not orphan.is_running() or orphan.status() == psutil.STATUS_ZOMBIE


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
