"""Runs jobs in processes with one thread each, which is faster here than one process with many threads."""

import ctypes
import os
import signal
import sys
from collections.abc import Callable, Sequence
from typing import TypeVar

from joblib import Parallel, delayed, parallel_config

from tasks.progress import progress

Job = TypeVar("Job")
Result = TypeVar("Result")

_PR_SET_PDEATHSIG = 1


def run_jobs(work: Callable[[Job], Result], jobs: Sequence[Job], processes: int) -> list[Result]:
    """``work(job)`` for each job, results in order. ``work`` is a module-level function.

    With ``processes`` 1 the jobs run in this process. Results do not depend on ``processes``, as each job runs with one
    thread. Workers are killed when a job fails or their parent dies.
    """
    started = {"inner_max_num_threads": 1, "initializer": _end_with_parent, "initargs": (os.getpid(),)}
    with parallel_config("loky", n_jobs=min(processes, len(jobs)) or 1, max_nbytes=None, **started):
        results = Parallel(return_as="generator")(delayed(work)(job) for job in jobs)
        found = []
        with progress("models", len(jobs), "job") as bar:
            for result in results:
                found.append(result)
                bar.update()
    return found


def _end_with_parent(parent: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # the parent died before prctl
        os._exit(1)
