"""Runs the stages of a rebuild side by side, each as soon as the stages that it needs have run."""

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from graphlib import TopologicalSorter
from pathlib import Path

from flows.engine.pipeline import needed_by, read_pipeline
from tasks.llm.orphan import STAGE_RUNNER

_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of Linux's prctl

Process = subprocess.Popen[bytes]


def run_stages(pipeline: Path, names: Sequence[str], environment: Mapping[str, str], *, at_once: int) -> int:
    """Run the stages ``names`` of a dvc.yaml through DVC, ``at_once`` at a time; returns 0, or 1 when one failed.

    A stage whose inputs come out unchanged is skipped. After a failure, stages that are running are waited for, and no
    other is started.
    """
    needs = {name: needed & set(names) for name, needed in needed_by(read_pipeline(pipeline)).items() if name in names}
    depth, order = _depths(needs), TopologicalSorter(needs)
    order.prepare()
    waiting: list[str] = []
    failed, started = False, 0
    with _Slots(at_once, environment) as slots:
        while (order.is_active() and not failed) or slots.busy:
            waiting = sorted([*waiting, *order.get_ready()], key=lambda name: (-depth[name], names.index(name)))
            while waiting and slots.free and not failed:
                started += 1
                print(f"Running stage '{waiting[0]}' ({started} of {len(names)})", flush=True)
                slots.start(f"{pipeline}:{waiting[0]}", waiting.pop(0))
            for name, status in slots.ended():
                failed = failed or status != 0
                order.done(name)
    return int(failed)


def _depths(needs: Mapping[str, set[str]]) -> dict[str, int]:
    """Length of the longest chain of stages that begins with each stage: those with the longest are started first."""
    depth = dict.fromkeys(needs, 1)
    for name in reversed(list(TopologicalSorter(needs).static_order())):
        for needed in needs[name]:
            depth[needed] = max(depth[needed], depth[name] + 1)
    return depth


class _Slots:
    """A fixed number of processes. Progress bars of each slot are on a line of their own."""

    def __init__(self, count: int, environment: Mapping[str, str]) -> None:
        self.free, self.busy = list(range(count)), dict[Future[int], tuple[str, int]]()
        self._environment, self._pool = environment, ThreadPoolExecutor(count)
        self._running: dict[int, Process] = {}

    def start(self, target: str, name: str) -> None:
        """Run a stage in a free slot."""
        slot = self.free.pop(0)
        command = [sys.executable, "-m", STAGE_RUNNER, target]
        process = start_group(command, {**self._environment, "TQDM_POSITION": str(slot)})
        self._running[slot] = process
        self.busy[self._pool.submit(process.wait)] = name, slot

    def ended(self) -> Iterator[tuple[str, int]]:
        """Wait until a process has ended; yields the stages that have, with their exit status."""
        for future in wait(self.busy, return_when=FIRST_COMPLETED).done:
            name, slot = self.busy.pop(future)
            self.free.append(slot)
            yield name, future.result()

    def __enter__(self) -> "_Slots":
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._running.values():
            end_group(process)
        self._pool.shutdown()


def start_group(command: Sequence[str], environment: Mapping[str, str]) -> Process:
    """Start a process in a group of its own, which ends with this process; commands of this installation come first."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    return subprocess.Popen(
        command,
        env={**os.environ, **environment, "PATH": path},
        start_new_session=True,
        preexec_fn=_die_with_parent,
    )


@contextmanager
def exit_on_sigterm() -> Iterator[None]:
    """Raise SystemExit in this process on SIGTERM, so that what it started is ended."""
    previous = signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous)


def end_group(process: Process) -> None:
    """End a process that still runs, with its group."""
    if process.poll() is not None:
        return
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
            process.wait(timeout=10)
        except (ProcessLookupError, subprocess.TimeoutExpired):
            continue


def _die_with_parent() -> None:
    """Have Linux end dvc when this process is killed; on other systems each stage checks that its parent lives."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_DEATH_SIGNAL, signal.SIGTERM)
