"""Processes of a rebuild: groups that end with their parent, the lock of a run, and the leases of its stages.

The lease of a stage is a file that names the process which may write the stage's outputs. A stage that is taken over by
another run loses it: its outputs are then not moved into place.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psutil
from filelock import FileLock, Timeout

from flows.repository.workspace import root
from schemas.errors import BusyError, OrphanError
from tasks.transport.processes import (
    RUN,
    ParentWatch,
    Watched,
    die_with,
    end_tree,
    first_gone,
    is_alive,
    still_runs,
    this_process,
)

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
    """Lock the clone for one run; raises BusyError when another run holds the lock or a ``dvc`` process runs here."""
    file = root() / ".dvc" / "tmp" / "rerun.lock"  # of this tree: that of a watch is rebuilt independently
    file.parent.mkdir(exist_ok=True)
    try:
        with FileLock(file, timeout=0):
            _wait_for_killed_run()
            _take_over_leases()
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
    return any(still_runs(int(info["pid"]), file) for info in infos)


def _wait_for_killed_run() -> None:
    """Wait until the processes of a run that was killed have ended; raises BusyError when they do not."""
    deadline = time.monotonic() + END_S
    while dvc_at_work():
        if time.monotonic() > deadline:
            raise BusyError("another dvc process runs in this clone; wait for it or stop it")
        time.sleep(0.1)


def _rwlock() -> Path:
    return root() / ".dvc" / "tmp" / "rwlock"


@dataclass(frozen=True)
class _Lease:
    """Names the process that may write the outputs of a stage, and those that it depends on."""

    stage: str
    pid: int
    born: float
    depends_on: list[Watched]

    @classmethod
    def read(cls, file: Path) -> "_Lease | None":
        try:
            return cls(**json.loads(file.read_text(encoding="utf-8")))
        except (FileNotFoundError, ValueError, TypeError):  # cut short by a kill or a full disk: never in use
            return None

    def end(self) -> None:
        """End its process if that is an orphan; raises BusyError if it runs for somebody."""
        if not is_alive(self.pid, self.born):
            return
        if not first_gone(self.depends_on):
            raise BusyError(f"stage {self.stage} runs in process {self.pid}; wait for it or stop it")
        with suppress(psutil.NoSuchProcess):
            end_tree(psutil.Process(self.pid))
        deadline = time.monotonic() + END_S
        while is_alive(self.pid, self.born):  # not psutil's wait: a dead process that nobody reaps is gone, too
            if time.monotonic() > deadline:
                raise BusyError(f"stage {self.stage}, left by a killed run, does not end; kill process {self.pid}")
            time.sleep(0.05)


_held: tuple[Path, _Lease] | None = None
"""The lease of the stage that this process runs."""


@contextmanager
def stage_lease(pipeline: Path, name: str) -> Iterator[None]:
    """Hold the right to write the outputs of a stage, after ending an orphan that has it.

    Raises BusyError when another run has it, OrphanError when the run that this process belongs to is gone.
    """
    global _held
    file = _leases() / quote(f"{pipeline}:{name}", safe="")
    watch, (_, pid, born) = ParentWatch(), this_process()
    lease = _Lease(name, pid, born, [list(each) for each in watch.watched])  # type: ignore[misc]
    with _changing_leases():
        watch.check()
        if (other := _Lease.read(file)) is not None:
            other.end()
        file.write_text(json.dumps(vars(lease)), encoding="utf-8")
    _held = file, lease
    try:
        yield
    finally:
        _held = None
        with _changing_leases():
            if _Lease.read(file) == lease:
                file.unlink()


@contextmanager
def fenced() -> Iterator[None]:
    """A context in which outputs are moved into place; raises OrphanError when another run has taken the stage over."""
    if _held is None:
        yield
        return
    file, lease = _held
    with _changing_leases():
        if _Lease.read(file) != lease:
            raise OrphanError(f"another run has taken stage {lease.stage} over; its outputs are left to that run")
        yield


def _take_over_leases() -> None:
    """End orphans of former runs and void their leases; raises BusyError when a stage runs for somebody else."""
    with _changing_leases():
        for file in sorted(_leases().iterdir()):
            if (lease := _Lease.read(file)) is not None:
                lease.end()
            file.unlink()


def _changing_leases() -> FileLock:
    return FileLock(_leases().with_suffix(".lock"))


def _leases() -> Path:
    """The folder of leases: of the working directory, since an experiment in a copy of the repository has its own."""
    folder = (Path.cwd() if Path(".dvc").is_dir() else root()) / ".dvc" / "tmp" / "stages"
    folder.mkdir(parents=True, exist_ok=True)
    return folder
