"""The progress of long work: counts, and the line in which they are shown, the only one of this project.

A stage of `vignette repro` writes its counts to the folder that VIGNETTE_PROGRESS names, and the run shows a live line
for each running stage. Another process shows a line of its own, once its work takes more than a few seconds, or prints
it from time to time where there is no terminal.
"""

import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

FOLDER = "VIGNETTE_PROGRESS"
"""Environment variable with the folder to which the processes of a stage write their counts."""
SHOWN_AFTER_S = 3.0
WRITTEN_EVERY_S = 0.5
PRINTED_EVERY_S = 10.0
CALL, CHUNK = "call", "chunk"
_is_unseen = ContextVar("is_unseen", default=False)


@dataclass
class Count:
    """Units of work that are done, of those that are known of; of calls also how they were answered, and dollars."""

    title: str
    unit: str
    total: int = 0
    done: int = 0
    kept: int = 0
    """Calls answered from the response store."""
    failed: int = 0
    dollars: float = 0.0

    def update(self, units: int = 1) -> None:
        """Count units as done."""
        self.done += units


@contextmanager
def progress(title: str, total: int, unit: str) -> Iterator[Count]:
    """A count of work, shown while the context is open. Calls are also counted after it, towards the stage's sum.

    Of no units (``total`` 0) only the time and what else is counted meanwhile are shown.
    """
    count = Count(title, unit, total)
    if _is_unseen.get():
        yield count
        return
    _COUNTS.open(count)
    try:
        yield count
    finally:
        _COUNTS.close(count)


@contextmanager
def unseen() -> Iterator[None]:
    """A context whose work is not shown."""
    before = _is_unseen.set(True)
    try:
        yield
    finally:
        _is_unseen.reset(before)


class _Counts:
    """The counts of this process, and the thread that writes them or shows them while one is open."""

    def __init__(self) -> None:
        self._open: list[Count] = []
        self._closed: list[Count] = []
        self._folder: str | None = None
        self._shown: LiveLines | PrintedLine | None = None
        self._writer: threading.Thread | None = None
        self._lock = threading.Lock()

    def open(self, count: Count) -> None:
        with self._lock:
            if self._folder != os.environ.get(FOLDER):  # counts of other work do not belong to this stage's sum
                self._folder, self._closed = os.environ.get(FOLDER), []
            self._open.append(count)
            if self._folder is not None:
                if self._writer is None:
                    self._writer = threading.Thread(target=self._keep_writing, daemon=True)
                    self._writer.start()
            elif self._shown is None:
                self._shown = LiveLines(after=SHOWN_AFTER_S) if has_terminal() else PrintedLine()
                self._shown.__enter__()
                self._shown.add(Line(count.title, lambda: [*self._closed, *self._open]))

    def close(self, count: Count) -> None:
        with self._lock:
            self._open = [other for other in self._open if other is not count]
            self._closed += [count] if count.unit == CALL else []
            if self._shown is not None and not self._open:
                self._shown.__exit__()
                self._shown, self._closed = None, []
        self._write()

    def _keep_writing(self) -> None:
        while True:
            self._write()
            time.sleep(WRITTEN_EVERY_S)

    def _write(self) -> None:
        if self._folder is None:
            return
        file = Path(self._folder, f"{os.getpid()}.json")
        with self._lock, suppress(OSError):  # progress is never a reason to fail
            partial = file.with_suffix(".partial")
            partial.write_text(json.dumps([asdict(count) for count in (*self._closed, *self._open)]))
            partial.replace(file)


_COUNTS = _Counts()


def read_counts(folder: Path) -> list[Count]:
    """The counts that the processes of a stage have written."""
    found: list[Count] = []
    for file in sorted(folder.glob("*.json")):
        with suppress(OSError, ValueError, TypeError):
            found += [Count(**entry) for entry in json.loads(file.read_text())]
    return found


class Line:
    """The line of one stage: its name, the time since it began, and its counts, which ``read`` returns."""

    def __init__(self, name: str, read: Callable[[], Iterable[Count]]) -> None:
        self.name, self._read, self._begun = name, read, time.monotonic()
        self._chunks, self._calls = 0, 0

    @property
    def seconds(self) -> float:
        """Time since it began."""
        return time.monotonic() - self._begun

    def counts(self) -> str:
        """What is done of what is expected: ``340 of about 1,000 calls, 0.12 dollars``; empty before it is known."""
        counts = list(self._read())
        calls = [count for count in counts if count.unit == CALL]
        others = [
            count for count in counts if count.total and count.unit != CALL and (not calls or count.unit != CHUNK)
        ]
        said = self._of_calls(calls, [count for count in counts if count.unit == CHUNK]) if calls else []
        for count in others:
            title = "" if count.title == self.name else f"{count.title} "
            said.append(f"{title}{count.done:,} of {number_of(count.total, count.unit)}")
        return ", ".join(said)

    def _of_calls(self, calls: Sequence[Count], chunks: Sequence[Count]) -> list[str]:
        """Calls are asked for chunk by chunk, so that their number is estimated from the chunks that are done."""
        done, known = sum(count.done for count in calls), sum(count.total for count in calls)
        finished, parts = sum(count.done for count in chunks), sum(count.total for count in chunks)
        if finished != self._chunks:
            self._chunks, self._calls = finished, done
        if finished and finished < parts:
            expected = f" of about {max(round(self._calls * parts / finished), known):,}"
        else:
            expected = "" if parts > max(finished, 1) or known <= done else f" of {known:,}"
        dollars, failed = sum(count.dollars for count in calls), sum(count.failed for count in calls)
        kept = sum(count.kept for count in calls)
        said = [f"{done:,}{expected} calls" if expected else number_of(done, CALL)]
        said += [f"{dollars:.2f} dollars"] if dollars else []
        said += [f"{failed:,} failed"] if failed else []
        return [*said, f"{kept:,} from the store"] if kept else said

    def __str__(self) -> str:
        counts = self.counts()
        return f"{self.name}  {clock(self.seconds)}" + (f"  {counts}" if counts else "")


def number_of(count: int, noun: str, many: str | None = None) -> str:
    """A count with its noun, in the plural but for 1: ``1,200 calls``. ``many``: a plural that does not end in s."""
    return f"{count:,} {noun if count == 1 else many or f'{noun}s'}"


def clock(seconds: float) -> str:
    """Minutes and seconds: ``3:07``."""
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes}:{rest:02}"


def has_terminal() -> bool:
    """Whether what this process prints is read in a terminal."""
    streams = (sys.__stdout__, sys.__stderr__)
    is_shown = all(stream is not None and not stream.closed and stream.isatty() for stream in streams)
    return is_shown and os.environ.get("TERM") != "dumb"


class PrintedLine:
    """A line that is printed to standard error every few seconds, where there is no terminal; a context manager."""

    def __init__(self) -> None:
        self._line, self._over = Line("", list), threading.Event()

    def add(self, line: Line) -> None:
        """Print this line from now on."""
        self._line = line

    def _print(self) -> None:
        while not self._over.wait(PRINTED_EVERY_S):
            with suppress(OSError, ValueError):  # a closed stream is no reason to fail
                print(self._line, file=sys.stderr, flush=True)

    def __enter__(self) -> "PrintedLine":
        threading.Thread(target=self._print, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()


class LiveLines:
    """Lines at the bottom of the terminal, which are drawn anew while they change; a context manager.

    ``after``: seconds before a line is shown.
    """

    def __init__(self, *, after: float = 0.0) -> None:
        from rich.console import Console  # these take a tenth of a second, and most processes show no line
        from rich.live import Live

        self._lines: dict[str, Line] = {}
        self._after = after
        # Not sys.stdout, in which control characters are escaped.
        self._console = Console(file=sys.__stdout__, highlight=False, markup=False)
        self._live = Live(
            get_renderable=self._render, console=self._console, refresh_per_second=2, transient=True,
            redirect_stdout=False, redirect_stderr=False,
        )  # fmt: skip

    def add(self, line: Line) -> None:
        """Show a line, in place of one of the same name."""
        self._lines[line.name] = line

    def remove(self, name: str) -> None:
        """Show the line no more."""
        self._lines.pop(name, None)

    def say(self, text: str) -> None:
        """Print a text above the lines; it must not hold control characters."""
        self._console.print(text, soft_wrap=True)

    def _render(self) -> Any:
        from rich.console import Group
        from rich.text import Text

        shown = [line for line in list(self._lines.values()) if line.seconds >= self._after]
        return Group(*(Text(str(line), no_wrap=True, overflow="ellipsis") for line in shown))

    def __enter__(self) -> "LiveLines":
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()
