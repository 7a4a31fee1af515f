"""A rebuild, and a stage that calls models, resume after a kill at any point.

No stored reply is requested again, no request goes unbooked, and the outputs are the same bytes.
KILLS and KILLED_STAGES (stage names) in the environment make the test of random kills smaller.
"""

import hashlib
import json
import os
import random
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import time
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import pytest

from flows.repository.pipeline import model_stages, stage_files
from flows.repository.workspace import FOLDER, STORE
from tasks.transport.processes import STAGE_RUNNER
from tests.support.clone import SMALL, Clone
from tests.support.endpoints import SimulatorServer, journal_lines
from tests.support.killing import BOUNDARIES
from tests.support.stored import forget

pytestmark = pytest.mark.soak

KILLS = int(os.environ.get("KILLS", "40"))
LONGEST_S = 45.0
VICTIMS = ("parent", "stage", "dvc", "prefect", "simulator")
RPM = 1500
"""Slow enough that a kill comes in the midst of the calls."""


class Endpoint:
    """The simulator on a port of its own, which logs each request."""

    def __init__(self, journal: Path) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self._arguments = ("--journal", str(journal), "--port", str(probe.getsockname()[1]))
        self.server = SimulatorServer(*self._arguments)

    def restart(self) -> None:
        """Kill it and start it again."""
        self.server.kill()
        time.sleep(1.0)
        self.server = SimulatorServer(*self._arguments)


@dataclass
class Bench:
    """A clone whose model-calling stages ran once without interruption, with an endpoint that logs each request."""

    clone: Clone
    journal: Path
    endpoint: "Endpoint"
    stages: list[str]
    reference: dict[str, dict[str, bytes]] = field(default_factory=dict)

    def outs(self, stage: str) -> list[Path]:
        """The files and folders that a stage writes."""
        files = stage_files(self.clone.folder / "dvc.yaml", stage)
        return [self.clone.folder / path for path in files.outs.values()]

    def start(self, *command: str) -> "subprocess.Popen[bytes]":
        """Start a command in the clone."""
        return subprocess.Popen(
            [sys.executable, "-m", *command],
            cwd=self.clone.folder,
            env=self.clone.environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def forget(self, stage: str) -> None:
        """Remove the stage's outputs and replies, as if it had never run."""
        forget(self.clone.folder / FOLDER / STORE, stage)
        for out in self.outs(stage):
            if out.is_dir():
                shutil.rmtree(out)
            out.unlink(missing_ok=True)

    def forget_all(self) -> None:
        """Remove every output, reply and entry of dvc.lock."""
        for file in self.clone.folder.glob(".vignette/responses.sqlite*"):
            file.unlink()
        for folder in ("data", ".dvc/cache"):
            shutil.rmtree(self.clone.folder / folder)
        (self.clone.folder / "dvc.lock").unlink()

    def below(self, run: "subprocess.Popen[bytes]") -> list[psutil.Process]:
        """The processes that a run has started, without the Prefect server, which outlives it."""
        try:
            started = psutil.Process(run.pid).children(recursive=True)
        except psutil.NoSuchProcess:
            return []
        return [child for child in started if child.pid != self.prefect()]

    def prefect(self) -> int | None:
        """The process of the clone's Prefect server."""
        state = self.clone.folder / ".vignette" / "prefect-server.json"
        return int(json.loads(state.read_text())["pid"]) if state.exists() else None

    def kill(self, victim: str, run: "subprocess.Popen[bytes]") -> int:
        """Kill a process of that kind; returns 1 if one ran."""
        if victim == "simulator":
            self.endpoint.restart()
            return 1
        found = {"parent": run.pid, "prefect": self.prefect()}.get(victim)
        words = {"stage": "stage", "dvc": STAGE_RUNNER}.get(victim, "")
        for process in self.below(run) if words else []:
            try:
                found = process.pid if words in process.cmdline()[1:4] else found
            except psutil.Error:
                continue
        try:
            os.kill(found or 0, signal.SIGKILL) if found else None
        except ProcessLookupError:
            return 0
        return int(found is not None)

    def booked(self) -> int:
        """The calls that the ledger knows of."""
        return sum(calls for (calls,) in self._rows("SELECT calls FROM ledgers"))

    def _rows(self, query: str) -> list[tuple[Any, ...]]:
        """Rows of the response store; none before it exists."""
        store = self.clone.folder / ".vignette" / "responses.sqlite"
        if not store.exists():
            return []
        with closing(sqlite3.connect(store)) as connection:
            known = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'ledgers'").fetchone()
            return connection.execute(query).fetchall() if known else []

    def kept(self) -> set[str]:
        """Hashes of the requests with stored replies, in the form of the server's journal."""
        requests = self._rows("SELECT request FROM responses")
        return {hashlib.sha256(zlib.decompress(request)).hexdigest() for (request,) in requests}

    def sent(self) -> list[str]:
        """Hashes of all requests that reached the server."""
        return [key for key, _ in journal_lines(self.journal)]

    def resume_and_compare(self, stage: str) -> None:
        """Run the stage to its end; requests with a stored reply must not be sent again."""
        kept, seen = self.kept(), len(self.sent())
        self.clone.vignette("stage", stage)
        again = kept & set(self.sent()[seen:])
        assert not again, f"{stage}: {len(again)} of {len(kept)} kept replies were asked for again"
        assert self.clone.outputs(stage) == self.reference[stage], f"{stage}: other bytes than without interruption"


@contextmanager
def benched(folder: Path, stages: list[str]) -> Iterator[Bench]:
    """A bench of these stages, or of all that call a model, with what they need."""
    clone = Clone(folder / "clone")
    journal = folder / "journal"
    endpoint = Endpoint(journal)
    try:
        roles = clone.roles_at(endpoint.server.base_url)
        prices = {role["model"]: {"prompt": 1.0, "completion": 1.0} for role in roles.values()}
        sending = {role: {"rpm": RPM, "backoff_s": 0.05} for role in roles}
        clone.set_params(roles=roles, prices=prices, runtime__sending=sending, **SMALL)
        clone.vignette("probe")
        found = Bench(clone, journal, endpoint, stages or list(model_stages(clone.folder / "dvc.yaml")))
        clone.run("dvc", "repro", *found.stages, timeout=3000)
        found.reference = {stage: clone.outputs(stage) for stage in found.stages}
        yield found
        clone.vignette("server", "stop")
    finally:
        endpoint.server.kill()


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    with benched(tmp_path_factory.mktemp("kills"), []) as found:
        yield found


def test_a_rebuild_is_killed_at_random_moments(tmp_path: Path) -> None:
    with benched(tmp_path, os.environ.get("KILLED_STAGES", "").split()) as bench:
        _kill_at_random(bench)


def _kill_at_random(bench: Bench) -> None:
    draw, kills, done = random.Random(20), Counter[str](), True
    while kills.total() < KILLS or not done:
        if done:
            bench.forget_all()
            first = len(bench.sent())
        command = ("flows.commands.cli", "repro", "--no-probe", "--keep-server", *bench.stages)
        victim, kept, seen = draw.choice(VICTIMS), bench.kept(), len(bench.sent())
        run = bench.start(*command)
        if kills.total() < KILLS:
            time.sleep(draw.uniform(5.0, LONGEST_S))
        else:
            run.wait()
        while run.poll() is None and victim != "parent":
            if bench.kill(victim, run):
                kills[victim] += 1
                time.sleep(draw.uniform(0.0, 5.0))
                break
            time.sleep(0.5)  # until there is one
        below = bench.below(run)
        if run.poll() is None:
            kills["parent"] += bench.kill("parent", run)
        run.wait()
        _, alive = psutil.wait_procs(below, timeout=5)
        sent, booked, done = bench.sent(), bench.booked(), run.returncode == 0
        print(dict(kills), f"status {run.returncode}: {len(sent) - first} requests sent, {booked} booked", flush=True)
        assert not alive, f"after {kills} still alive: {[process.cmdline() for process in alive]}"
        assert not kept & set(sent[seen:]), "kept replies were asked for again"
        if done:
            assert booked >= len(sent) - first
            assert {stage: bench.clone.outputs(stage) for stage in bench.stages} == bench.reference
    bench.clone.vignette("server", "stop")
    assert bench.clone.processes() == []


@pytest.mark.parametrize("boundary", BOUNDARIES)
def test_kill_at_each_write_boundary(bench: Bench, boundary: str) -> None:
    for stage in bench.stages:
        bench.forget(stage)
        writes = len(bench.reference[stage]) if boundary.endswith("replace") else 4
        for times in range(1, writes + 1):
            run = bench.start("tests.support.killing", boundary, str(times), stage)
            run.wait()
            assert run.returncode in (-signal.SIGKILL, 0, 1)
        bench.resume_and_compare(stage)
