"""Runs jobs in processes with one thread each, which is faster here than one process with many threads."""

import ctypes
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from multiprocessing import get_context
from typing import TypeVar

from tasks.progress import progress

Job = TypeVar("Job")
Result = TypeVar("Result")

_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_PR_SET_PDEATHSIG = 1
_REFRESH_SECONDS = 5


def run_jobs(work: Callable[[Job], Result], jobs: Sequence[Job], processes: int) -> list[Result]:
    """``work(job)`` for each job, results in order. ``work`` is a module-level function.

    With ``processes`` 1 the jobs run in this process. Results do not depend on ``processes``, as each job runs with one
    thread. Workers are killed when their parent dies.
    """
    if processes == 1:
        return [work(job) for job in _with_progress(jobs)]
    previous = {name: os.environ.get(name) for name in _THREADS}
    os.environ.update(dict.fromkeys(_THREADS, "1"))
    try:
        with ProcessPoolExecutor(
            max(1, min(processes, len(jobs))),
            mp_context=get_context("spawn"),
            initializer=_end_with_parent,
            initargs=(os.getpid(),),
        ) as pool:
            try:
                return _collected([pool.submit(work, job) for job in jobs])
            except BaseException:  # includes KeyboardInterrupt; jobs that have not started are dropped
                pool.shutdown(wait=False, cancel_futures=True)
                raise
    finally:
        for name, value in previous.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _with_progress(jobs: Sequence[Job]) -> Iterator[Job]:
    with progress("models", len(jobs), "job") as bar:
        for job in jobs:
            yield job
            bar.update()


def _collected(futures: Sequence[Future[Result]]) -> list[Result]:
    """Results in order, or the first failure. The bar is refreshed while no job ends, so that it appears early."""
    waiting = set(futures)
    with progress("models", len(futures), "job") as bar:
        while waiting:
            done, waiting = wait(waiting, _REFRESH_SECONDS, FIRST_COMPLETED)
            for future in done:
                future.result()
            bar.update(len(done)) if done else bar.refresh()
    return [future.result() for future in futures]


def _end_with_parent(parent: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # the parent died before prctl
        os._exit(1)
