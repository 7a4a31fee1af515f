"""Runs jobs in processes with one thread each, which is faster here than one process with many threads."""

import os
import signal
from collections.abc import Callable, Sequence
from typing import TypeVar

from joblib import Parallel, delayed, parallel_config

from tasks.progress import progress
from tasks.transport.processes import die_with

Job = TypeVar("Job")
Result = TypeVar("Result")


def run_jobs(work: Callable[[Job], Result], jobs: Sequence[Job], processes: int) -> list[Result]:
    """``work(job)`` for each job, results in order. ``work`` is a module-level function.

    With ``processes`` 1 the jobs run in this process. Results do not depend on ``processes``, as each job runs with one
    thread. Workers are killed when a job fails or their parent dies.
    """
    started = {"inner_max_num_threads": 1, "initializer": die_with, "initargs": (os.getpid(), signal.SIGKILL)}
    with parallel_config("loky", n_jobs=min(processes, len(jobs)) or 1, max_nbytes=None, **started):
        results = Parallel(return_as="generator")(delayed(work)(job) for job in jobs)
        found = []
        with progress("models", len(jobs), "job") as bar:
            for result in results:
                found.append(result)
                bar.update()
    return found
