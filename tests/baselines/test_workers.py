"""Jobs in processes: in order, ended with their parent. The processes import this module, so it imports little."""

import os
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from tasks.baselines.workers import run_jobs


def _mark(path: Path) -> str:
    """Create a file; the first job fails."""
    path.touch()
    if path.name == "0":
        raise ValueError("job 0 cannot be done")
    time.sleep(0.2)
    return path.name


def _wait(file: Path) -> None:
    """Say which process this is, and go on for long."""
    file.with_suffix(".new").write_text(str(os.getpid()))
    file.with_suffix(".new").replace(file)
    time.sleep(120)


def test_results_are_in_the_order_of_jobs(tmp_path: Path) -> None:
    jobs = [tmp_path / str(n) for n in range(1, 6)]
    assert run_jobs(_mark, jobs, 2) == run_jobs(_mark, jobs, 1) == ["1", "2", "3", "4", "5"]


def test_a_failure_is_raised_and_cancels_the_rest(tmp_path: Path) -> None:
    jobs = [tmp_path / str(n) for n in range(40)]
    with pytest.raises(ValueError, match="job 0 cannot be done"):
        run_jobs(_mark, jobs, 2)
    assert len(list(tmp_path.iterdir())) < len(jobs)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a process of its parent's death")
def test_workers_die_with_their_parent(tmp_path: Path) -> None:
    jobs = [tmp_path / "a", tmp_path / "b"]
    code = f"from pathlib import *; from {__name__} import _wait, run_jobs; run_jobs(_wait, {jobs!r}, 2)"
    with subprocess.Popen([sys.executable, "-c", code]) as parent:
        while not all(file.exists() for file in jobs):
            time.sleep(0.05)
        workers = [psutil.Process(int(file.read_text())) for file in jobs]
        parent.kill()
    _, alive = psutil.wait_procs(workers, timeout=10)
    assert not alive
