"""A clone with a served watch, and an endpoint whose models are exchanged, for the soak test of the watch."""

import hashlib
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import yaml

from tests.support.clone import SMALL, Clone
from tests.support.disk import own_disk
from tests.support.endpoints import journal_lines, simulator

INTERVAL = 120
"""Seconds between rounds."""
PATIENCE = 1800
"""Seconds for a rebuild on a busy machine, with the rounds that are due before it."""
DISK_MB = 1500

ROLES = ("writer", "annotator", "judge", "answerer")
_STARTED = "Running stage '"


@dataclass
class Watched:
    """A clone on a disk of its own, whose roles have separate model names and are watched on a schedule.

    ``refused`` are the lines of the journal of requests, from and to, that a wrong model was sent.
    """

    clone: Clone
    folder: Path
    serving: "subprocess.Popen[bytes] | None" = None
    models: dict[str, str] = field(default_factory=lambda: {role: f"vignette-{role}" for role in ROLES})
    refused: list[tuple[int, int]] = field(default_factory=list)

    @property
    def tree(self) -> Path:
        """The tree in which the watch rebuilds."""
        return self.clone.folder / ".vignette" / "watch"

    @property
    def disk(self) -> Path:
        """The disk with the clone and DVC's remote."""
        return self.clone.folder.parent

    def exchange(self, role: str, model: str) -> None:
        """Serve another model under a role's name, while endpoint and watch keep running."""
        self.models[role] = model
        partial = self.folder / "aliases.partial"
        partial.write_text(json.dumps(self.models))
        partial.replace(self.folder / "aliases.json")

    def lock(self) -> dict[str, Any]:
        """The stages of the last lineage's dvc.lock."""
        return dict(yaml.safe_load(self.clone.git("show", "lineages:dvc.lock"))["stages"])

    def said(self) -> str:
        """All that the watch has printed."""
        return (self.folder / "watch.out").read_text()

    def outcomes(self, state: str = "") -> list[str]:
        """The outcome of each round, as printed by the watch; of all rounds or of those with that state."""
        lines = [line[line.index("watch: ") :] for line in self.said().splitlines() if "watch: " in line]
        return [line for line in lines if line.startswith(f"watch: {state}")]

    def wait_for(self, state: str, seen: int, seconds: float = PATIENCE) -> str:
        """The first outcome after ``seen`` ones that starts with ``state``; fails after ``seconds``."""

        def found() -> list[str]:
            return [line for line in self.outcomes()[seen:] if line.startswith(f"watch: {state}")]

        self._wait(lambda: bool(found()), seconds, f"no '{state}'")
        return found()[0]

    def wait_until_rebuilding(self, stages: int = 1) -> None:
        """Return when ``stages`` more stages have been started."""
        seen = self.said().count(_STARTED)
        self._wait(lambda: self.said().count(_STARTED) >= seen + stages, PATIENCE, "no rebuild")

    def _wait(self, condition: Callable[[], bool], seconds: float, problem: str) -> None:
        end = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end, f"{problem} within {seconds:.0f} s: {self.said()[-4000:]}"
            time.sleep(0.5)

    def rebuilt_after(self, role: str, model: str) -> tuple[str, set[str]]:
        """Exchange a role's model: (outcome of the rebuild, stages that it changed)."""
        before, seen = self.lock(), len(self.outcomes())
        self.exchange(role, model)
        said = self.wait_for("rebuilt", seen)
        return said, changed(before, self.lock())

    def kill_rounds(self) -> None:
        """Kill the process that polls for rounds, with all that it has started, as when memory runs out."""
        assert self.serving is not None
        (poll,) = [p for p in psutil.Process(self.serving.pid).children() if "poll" in p.cmdline()]
        for process in [poll, *poll.children(recursive=True)]:
            with suppress(psutil.NoSuchProcess):
                process.kill()

    def kill_server(self) -> None:
        """Kill the Prefect server and its supervisor."""
        os.killpg(
            json.loads((self.clone.folder / ".vignette" / "prefect-server.json").read_text())["pid"], signal.SIGKILL
        )

    @contextmanager
    def full_disk(self) -> Iterator[None]:
        """Leave no free byte on the disk."""
        filler = self.disk / "filler"
        with filler.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, psutil.disk_usage(str(self.disk)).free)
        try:
            yield
        finally:
            filler.unlink()

    def sent(self) -> list[str]:
        """Hashes of the bodies of all requests that the endpoint received."""
        return [body for body, _ in journal_lines(self.folder / "journal")]

    def paid_twice(self) -> Counter[str]:
        """Requests, by hash of the body, that were sent more often than replies to them are stored."""
        stored: Counter[str] = Counter()
        store = sqlite3.connect(self.clone.folder / ".vignette" / "responses.sqlite")
        for (request,) in store.execute("SELECT request FROM responses"):
            stored[hashlib.sha256(zlib.decompress(request)).hexdigest()] += 1
        lines = self.sent()
        kept = [body for n, body in enumerate(lines) if not any(start <= n < end for start, end in self.refused)]
        return Counter(body for body in kept if body in stored) - stored


def changed(before: dict[str, Any], after: dict[str, Any]) -> set[str]:
    """Stages whose entries in dvc.lock differ."""
    return {name for name in after if after[name] != before.get(name)}


@contextmanager
def watching(folder: Path) -> Iterator[Watched]:
    """Serve the watch of a new clone in ``folder``, whose first lineage exists."""
    disk = folder / "disk"
    disk.mkdir()
    with own_disk(disk, DISK_MB):
        watched = Watched(Clone(disk / "clone"), folder)
        watched.exchange("writer", "vignette-writer")
        arguments = ("--aliases", str(folder / "aliases.json"), "--journal", str(folder / "journal"))
        with simulator(*arguments) as server:
            roles = {name: role | {"model": name} for name, role in watched.clone.roles_at(server.base_url).items()}
            watched.clone.set_params(roles=roles, watch__every_seconds=INTERVAL, **SMALL)
            with _served(watched):
                assert "(branch HEAD)" in watched.wait_for("rebuilt", 0)
                yield watched


@contextmanager
def _served(watched: Watched) -> Iterator[None]:
    with (watched.folder / "watch.out").open("w") as sink:
        watched.serving = subprocess.Popen(
            [sys.executable, "-m", "flows.commands.cli", "watch", "serve"],
            cwd=watched.clone.folder,
            env={**watched.clone.environment, "PYTHONUNBUFFERED": "1"},
            stdout=sink,
            stderr=sink,
            start_new_session=True,
        )
    try:
        yield
    finally:
        watched.serving.terminate()
        try:
            watched.serving.wait(timeout=60)
        finally:
            watched.clone.vignette("server", "stop")
            if watched.serving.poll() is None:
                os.killpg(watched.serving.pid, signal.SIGKILL)
