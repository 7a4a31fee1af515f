"""Processes of a rebuild: groups that end with their parent, the lock of a run, and the leases of its stages.

The lease of a stage is a file that the one process which writes the stage's outputs has locked. A stage whose run was
killed ends within a second; the next run waits for that.
"""

import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from filelock import FileLock, Timeout

from flows.repository.workspace import root
from schemas.errors import BusyError
from tasks.transport.processes import RUN, die_with, dvc_runs, this_process

END_S = 10.0
"""How long a group may take to end before it is killed, and a killed run's processes to disappear."""

Process = subprocess.Popen[bytes]


def start_group(
    command: Sequence[str], environment: Mapping[str, str], *, piped: bool = False, passed: Sequence[int] = ()
) -> Process:
    """Start a process in a group of its own, which gets SIGTERM when the calling thread ends.

    Commands of this installation come first on its PATH. Its stages belong to the run of this process. ``piped``: what
    it prints is read from its ``stdout``. ``passed``: open files that it inherits.
    """
    _, pid, born = this_process()
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    return subprocess.Popen(
        command,
        env={**os.environ, **environment, "PATH": path, RUN: f"{pid}:{born}"},
        stdout=subprocess.PIPE if piped else None,
        stderr=subprocess.STDOUT if piped else None,
        start_new_session=True,
        pass_fds=passed,
        preexec_fn=lambda: die_with(pid, signal.SIGTERM),
    )


def end_group(process: Process) -> None:
    """End a process with its group; if it has ended, what is left of its group."""
    if process.poll() is not None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        return
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
            process.wait(timeout=END_S)
        except (ProcessLookupError, subprocess.TimeoutExpired):
            continue


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
    """Lock the clone for one run; raises BusyError when another run, a ``dvc`` process or a stage is at work here."""
    file = root() / ".dvc" / "tmp" / "rerun.lock"  # of this tree: that of a watch is rebuilt independently
    file.parent.mkdir(exist_ok=True)
    try:
        with FileLock(file, timeout=0):
            deadline = time.monotonic() + END_S  # for the processes of a run that was killed
            while dvc_at_work():
                if time.monotonic() > deadline:
                    raise BusyError("another dvc process runs in this clone; wait for it or stop it")
                time.sleep(0.1)
            for lease in _leases().iterdir():
                with _held(lease):
                    pass
            _rwlock().unlink(missing_ok=True)  # DVC takes a process that reused the id of a killed one for its owner
            yield
    except Timeout as error:
        raise BusyError("another run is in progress in this clone; wait for it or stop it") from error


def dvc_at_work() -> bool:
    """Whether a living process holds one of DVC's locks on outputs and dependencies."""
    try:
        held: dict[str, Any] = json.loads(_rwlock().read_text(encoding="utf-8"))
    except (FileNotFoundError, json.JSONDecodeError):  # empty while it is being written
        return False
    infos = [*held.get("write", {}).values(), *(info for readers in held.get("read", {}).values() for info in readers)]
    return any(dvc_runs(int(info["pid"])) for info in infos)


def _rwlock() -> Path:
    return root() / ".dvc" / "tmp" / "rwlock"


@contextmanager
def stage_lease(pipeline: Path, name: str) -> Iterator[None]:
    """Hold the right to write the outputs of a stage. Raises BusyError where another process has it for `END_S`."""
    with _held(_leases() / quote(f"{pipeline}:{name}", safe="")):
        yield


@contextmanager
def _held(file: Path) -> Iterator[None]:
    """Lock a lease, which names the process that holds it; the system frees it when that ends."""
    deadline = time.monotonic() + END_S
    with file.open("a+", encoding="utf-8") as lease:
        while True:
            try:
                fcntl.flock(lease, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError as error:
                if time.monotonic() > deadline:
                    stage = unquote(file.name).rpartition(":")[2]
                    by = file.read_text(encoding="utf-8")
                    raise BusyError(f"stage {stage} runs in process {by}; wait for it or stop it") from error
            time.sleep(0.05)
        lease.truncate(0)
        lease.write(str(os.getpid()))
        lease.flush()
        yield


def _leases() -> Path:
    """The folder of leases: of the working directory, since an experiment in a copy of the repository has its own."""
    folder = (Path.cwd() if Path(".dvc").is_dir() else root()) / ".dvc" / "tmp" / "stages"
    folder.mkdir(parents=True, exist_ok=True)
    return folder
