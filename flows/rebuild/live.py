"""Says what a rebuild does: a live line for each running stage or, where there is no terminal, plain lines."""

import subprocess
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock, Thread

from flows.repository.processes import Process
from tasks.progress import FOLDER, Line, LiveLines, clock, has_terminal, read_counts
from tasks.transport.shown import printable

PLAIN_EVERY_S = 60.0
"""Seconds between two plain lines on a running stage."""


class StageLines:
    """The lines of the stages of one rebuild, ``count`` in all; a context manager."""

    def __init__(self, count: int) -> None:
        self._count, self._begun, self._over = count, 0, 0
        self._lines: dict[str, Line] = {}
        self._lock, self._context = Lock(), ExitStack()
        self.live = LiveLines() if has_terminal() else None
        """The lines in the terminal, which then shows the output of stages above them; None without a terminal."""

    def __enter__(self) -> "StageLines":
        self._folder = Path(self._context.enter_context(TemporaryDirectory(prefix="vignette-")))
        if self.live is not None:
            self._context.enter_context(self.live)
        return self

    def __exit__(self, *_: object) -> None:
        self._context.close()

    def begin(self, name: str) -> dict[str, str]:
        """Show a stage, and return the environment in which it writes its counts."""
        with self._lock:
            self._begun += 1
            folder = self._folder / str(self._begun)
            folder.mkdir()
            line = self._lines[name] = Line(name, lambda: read_counts(folder))
            if self.live is not None:
                self.live.add(line)
            else:
                self._say(f"Running stage '{name}' ({self._begun} of {self._count})")
        return {FOLDER: str(folder)}

    def wait(self, name: str, process: Process) -> int:
        """The exit status of a stage; until it ends, its output or how far it is are said."""
        if process.stdout is not None:
            Thread(target=self._forward, args=(process,), daemon=True).start()
        line = self._lines[name]
        while True:
            try:
                return process.wait(timeout=None if self.live is not None else PLAIN_EVERY_S)
            except subprocess.TimeoutExpired:
                self._say(str(line))

    def end(self, name: str, *, unchanged: bool = False, failed: bool = False) -> None:
        """Say how a stage ended."""
        with self._lock:
            line = self._lines.pop(name)
            if self.live is not None:
                self.live.remove(name)
            self._over += 1
            place = "" if self.live is None else f" ({self._over} of {self._count})"
            if unchanged:
                self._say(f"Stage '{name}' didn't change, skipping{place}")
            elif not failed:
                counts = line.counts()
                self._say(f"Stage '{name}' took {clock(line.seconds)}" + (f": {counts}" if counts else "") + place)

    def _say(self, text: str) -> None:
        if self.live is not None:
            self.live.say(text)
        else:
            print(f"{text}\n", end="", flush=True)  # in one write, as stages print at the same time

    def _forward(self, process: Process) -> None:
        """Show what a stage prints, as long as it does."""
        assert process.stdout is not None
        for line in process.stdout:
            self._say(printable(line.decode(errors="replace").rstrip("\n")))
