"""Processes of a rebuild: whether one still runs, groups that end with their parent, and the lock of a run."""

import ctypes
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
from filelock import FileLock, Timeout

from flows.runtime.workspace import root
from schemas.errors import BusyError

SLACK_S = 2.0
"""Start times and file times come from clocks of different resolution."""
END_S = 10.0
"""How long a group may take to end before it is killed, and a killed run's processes to disappear."""
_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of Linux's prctl

Process = subprocess.Popen[bytes]


def runs_since(pid: int, written: float) -> bool:
    """Whether process ``pid`` runs and started before ``written``, the time of the file that names it.

    A process that started later has reused the id. ``written`` is in seconds since 1970.
    """
    try:
        process = psutil.Process(pid)
        return process.create_time() <= written + SLACK_S and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def start_group(command: Sequence[str], environment: Mapping[str, str]) -> Process:
    """Start a process in a group of its own, which gets SIGTERM when the calling thread ends.

    Commands of this installation come first on its PATH.
    """
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    return subprocess.Popen(
        command,
        env={**os.environ, **environment, "PATH": path},
        start_new_session=True,
        preexec_fn=_die_with_parent,
    )


def end_group(process: Process) -> None:
    """End a process that still runs, with its group."""
    if process.poll() is not None:
        return
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
            process.wait(timeout=END_S)
        except (ProcessLookupError, subprocess.TimeoutExpired):
            continue


def _die_with_parent() -> None:
    """Have Linux end dvc when this process is killed; on other systems each stage checks that its parent lives."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_DEATH_SIGNAL, signal.SIGTERM)


@contextmanager
def exit_on_sigterm() -> Iterator[None]:
    """Raise SystemExit in this process on SIGTERM, so that what it started is ended."""
    previous = signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous)


@contextmanager
def exclusive() -> Iterator[None]:
    """Lock the clone for one run; raises BusyError when another run holds the lock or a ``dvc`` process runs here."""
    file = root() / ".dvc" / "tmp" / "rerun.lock"  # of this tree: that of a watch is rebuilt independently
    file.parent.mkdir(exist_ok=True)
    try:
        with FileLock(file, timeout=0):
            _wait_for_killed_run()
            _rwlock().unlink(missing_ok=True)  # DVC takes a process that reused the id of a killed one for its owner
            yield
    except Timeout as error:
        raise BusyError("another run is in progress in this clone; wait for it or stop it") from error


def dvc_at_work() -> bool:
    """Whether a living process holds one of DVC's locks on outputs and dependencies."""
    file = _rwlock()
    try:
        held: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    except (FileNotFoundError, json.JSONDecodeError):  # empty while it is being written
        return False
    infos = [*held.get("write", {}).values(), *(info for readers in held.get("read", {}).values() for info in readers)]
    return any(runs_since(int(info["pid"]), file.stat().st_mtime) for info in infos)


def _wait_for_killed_run() -> None:
    """Wait until the processes of a run that was killed have ended; raises BusyError when they do not."""
    deadline = time.monotonic() + END_S
    while dvc_at_work():
        if time.monotonic() > deadline:
            raise BusyError("another dvc process runs in this clone; wait for it or stop it")
        time.sleep(0.1)


def _rwlock() -> Path:
    return root() / ".dvc" / "tmp" / "rwlock"
