"""Jobs run in several processes."""

import time
from pathlib import Path

import pytest

from tasks.baselines.workers import run_jobs


def _mark(path: Path) -> str:
    """Create a file; the first job fails."""
    path.touch()
    if path.name == "0":
        raise ValueError("job 0 cannot be done")
    time.sleep(0.2)
    return path.name


def test_results_are_in_the_order_of_jobs(tmp_path: Path) -> None:
    jobs = [tmp_path / str(n) for n in range(1, 6)]
    assert run_jobs(_mark, jobs, 2) == run_jobs(_mark, jobs, 1) == ["1", "2", "3", "4", "5"]


def test_a_failure_is_raised_and_cancels_the_rest(tmp_path: Path) -> None:
    jobs = [tmp_path / str(n) for n in range(40)]
    with pytest.raises(ValueError, match="job 0 cannot be done"):
        run_jobs(_mark, jobs, 2)
    assert len(list(tmp_path.iterdir())) < len(jobs)
