"""A rebuild, and a stage that calls models, resume after a kill at any point.

No stored reply is requested again, and the outputs are the same bytes.
"""

import hashlib
import json
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pytest
import yaml

from flows.rebuild.pipeline import model_stages, stage_files
from tests.support.clone import SMALL, Clone
from tests.support.endpoints import journal_lines, simulator
from tests.support.killing import BOUNDARIES

pytestmark = pytest.mark.soak

RANDOM_KILLS = 10
RPM = 1500
"""Slow enough that a kill comes in the midst of the calls."""


@dataclass
class Bench:
    """A clone whose model-calling stages ran once without interruption, with an endpoint that logs each request."""

    clone: Clone
    journal: Path
    stages: list[str]
    reference: dict[str, dict[str, bytes]] = field(default_factory=dict)

    def outputs(self, stage: str) -> dict[str, bytes]:
        """Contents of a stage's outputs, by file."""
        found = [path for out in self.outs(stage) for path in ([out] if out.is_file() else sorted(out.rglob("*")))]
        return {str(path.relative_to(self.clone.folder)): path.read_bytes() for path in found if path.is_file()}

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
        self.clone.vignette("store", "prune", "--stage", stage, "--yes")
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
        state = self.clone.folder / ".vignette" / "prefect-server.json"
        server = json.loads(state.read_text())["pid"] if state.exists() else None
        try:
            return [child for child in psutil.Process(run.pid).children(recursive=True) if child.pid != server]
        except psutil.NoSuchProcess:
            return []

    @staticmethod
    def kill(process: psutil.Process) -> int:
        """Kill a process; 1 if it still ran."""
        try:
            process.kill()
        except psutil.NoSuchProcess:
            return 0
        return 1

    def kept(self) -> set[str]:
        """Hashes of the requests with stored replies, in the form of the server's journal."""
        connection = sqlite3.connect(self.clone.folder / ".vignette" / "responses.sqlite")
        return {
            hashlib.sha256(zlib.decompress(r)).hexdigest()
            for (r,) in connection.execute("SELECT request FROM responses")
        }

    def sent(self) -> list[str]:
        """Hashes of all requests that reached the server."""
        return [key for key, _ in journal_lines(self.journal)]

    def resume_and_compare(self, stage: str) -> None:
        """Run the stage to its end; requests with a stored reply must not be sent again."""
        kept, seen = self.kept(), len(self.sent())
        self.clone.vignette("stage", stage)
        again = kept & set(self.sent()[seen:])
        assert not again, f"{stage}: {len(again)} of {len(kept)} kept replies were asked for again"
        assert self.outputs(stage) == self.reference[stage], f"{stage}: other bytes than without interruption"


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    folder = tmp_path_factory.mktemp("kills")
    (folder / "clone").mkdir()
    clone = Clone(folder / "clone")
    journal = folder / "journal"
    with simulator("--journal", str(journal), workers=2) as server:
        params = yaml.safe_load((clone.folder / "params.yaml").read_text())
        for role in params["roles"].values():
            role["base_url"] = server.base_url
        sending = {role: {"rpm": RPM, "backoff_s": 0.05} for role in params["roles"]}
        clone.set_params(roles=params["roles"], runtime__sending=sending, **SMALL)
        clone.vignette("probe")
        found = Bench(clone, journal, list(model_stages(clone.folder / "dvc.yaml")))
        clone.run("dvc", "repro", *found.stages, timeout=3000)
        found.reference = {stage: found.outputs(stage) for stage in found.stages}
        yield found
        clone.vignette("server", "stop")


def test_a_rebuild_is_killed_at_random_moments(bench: Bench) -> None:
    draw, kills = random.Random(20), 0
    bench.forget_all()
    while kills < RANDOM_KILLS:
        run = bench.start("flows.commands.cli", "repro", "--no-probe", "--keep-server", *bench.stages)
        time.sleep(draw.uniform(5.0, 30.0))
        if run.poll() is None and draw.random() < 0.5:  # first a process below it: DVC, a shell or a stage
            kills += bench.kill(draw.choice(bench.below(run) or [psutil.Process(run.pid)]))
            time.sleep(draw.uniform(0.0, 5.0))
        if run.poll() is not None:
            continue
        below = bench.below(run)
        kills += bench.kill(psutil.Process(run.pid))
        run.wait()
        _, alive = psutil.wait_procs(below, timeout=5)
        assert not alive, f"after {kills} kills still alive: {[process.cmdline() for process in alive]}"
    kept, seen = bench.kept(), len(bench.sent())
    bench.clone.vignette("repro", "--no-probe", *bench.stages, timeout=3000)
    assert not kept & set(bench.sent()[seen:]), "kept replies were asked for again"
    assert {stage: bench.outputs(stage) for stage in bench.stages} == bench.reference
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
