"""Processes of this machine: whether one still runs, and whether those that this one depends on do. Imports psutil.

Process ids are reused, so a process is known by its id and its start time.

Killing `dvc` leaves the shell that it ran the stage in, so the parent alone does not tell: a stage watches every
process from itself up to `dvc`, and the run that VIGNETTE_RUN names. Started by hand, it watches only the parent; under
nohup, none.
"""

import ctypes
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import psutil

CHECK_EVERY_S = 1.0
_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of prctl
RUN = "VIGNETTE_RUN"
"""Environment variable with the process of `vignette repro` that a stage belongs to, as ``id:start time``."""
STAGE_RUNNER = "flows.rebuild.dvc_stage"
"""The module that runs one stage through DVC, in the place of the command ``dvc``."""
FORKS = "flows.commands.forks"
"""The module whose forks do the same, or run the stage; each is the child of a guard that ends with its command."""

Process = tuple[str, int, float]
"""Host, process id and start time in seconds since the machine started, which stays when the clock is set."""
Watched = tuple[int, float, str]
"""Process id, start time and name."""


def this_process() -> Process:
    """The process that calls."""
    return socket.gethostname(), os.getpid(), started(os.getpid())


def started(pid: int) -> float:
    """When the process ``pid`` started, in seconds since the machine did; 0 where it has ended."""
    try:
        return psutil.Process(pid).create_time() - psutil.boot_time()
    except psutil.NoSuchProcess:
        return 0.0


def ancestors() -> list[psutil.Process]:
    """The parent of this process, its parent and so on; empty where the system does not tell."""
    try:
        return psutil.Process().parents()
    except psutil.Error:
        return []


def is_alive(pid: int, born: float) -> bool:
    """Whether the process ``pid`` of this machine that started at ``born`` runs; one not waited for has ended."""
    try:
        return abs(started(pid) - born) <= 1 and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def dvc_runs(pid: int) -> bool:
    """Whether ``pid`` is a process of DVC, and no other that has reused the id."""
    try:
        return _is_dvc(psutil.Process(pid))
    except psutil.NoSuchProcess:
        return False


def end_with_parent() -> None:
    """From now on, end this process and what it started when a process that it depends on is gone."""
    threading.Thread(target=_end_orphan, args=(depended_on(),), daemon=True).start()


def _end_orphan(watched: Sequence[Watched]) -> None:
    while not (gone := [(pid, name) for pid, born, name in watched if not is_alive(pid, born)]):
        time.sleep(CHECK_EVERY_S)
    pid, name = gone[0]
    said = f"{name} (process {pid}), which started this stage, is gone; no further call is sent"
    print(f"{said}. Every reply so far is kept: run again to go on", file=sys.stderr)
    with suppress(psutil.NoSuchProcess):
        for below in psutil.Process().children(recursive=True):
            with suppress(psutil.NoSuchProcess):
                below.kill()
    os._exit(1)


def die_with(parent: int, number: int) -> None:
    """Have Linux send this process a signal when the parent that started it ends; elsewhere, only look if it lives."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_DEATH_SIGNAL, number)
    if os.getppid() != parent:  # it ended before the call
        os._exit(1)


def dvc_process() -> psutil.Process | None:
    """The dvc that runs this stage; None when it was started by hand."""
    return next((process for process in ancestors() if _is_dvc(process)), None)


def run_start() -> float:
    """When the run that this process belongs to began, in seconds since 1970: `vignette repro`, else dvc, else this."""
    run = _run()
    return psutil.boot_time() + run[1] if run else (dvc_process() or psutil.Process()).create_time()


def code_loaded_since() -> float:
    """Since when this process, or the run whose fork it may be, imports code, in seconds since 1970."""
    run = _run()
    return psutil.boot_time() + run[1] if run else psutil.Process().create_time()


def _run() -> Watched | None:
    """The `vignette repro` that this process belongs to."""
    pid, _, born = os.environ.get(RUN, "").partition(":")
    return (int(pid), float(born), "vignette repro") if born else None


def depended_on() -> list[Watched]:
    """The processes that this one depends on."""
    run = _run()
    watched, above = [run] if run else [], ancestors()
    dvc = next((position for position, process in enumerate(above) if _is_dvc(process)), None)
    if dvc is None and (signal.getsignal(signal.SIGHUP) == signal.SIG_IGN or os.getppid() == 1):
        return watched
    with suppress(psutil.NoSuchProcess):
        booted, near = psutil.boot_time(), above[: (dvc or 0) + 1]
        watched += [(process.pid, process.create_time() - booted, _name(process)) for process in near]
    return watched


def _name(process: psutil.Process) -> str:
    return "dvc" if _is_dvc(process) else process.name()


def _is_dvc(process: psutil.Process) -> bool:
    try:
        words = process.cmdline()
    except psutil.Error:
        return False
    if any(Path(word).stem == "dvc" for word in words[:2]):
        return True
    return words[1:3] in (["-m", "dvc"], ["-m", STAGE_RUNNER], ["-m", FORKS])
