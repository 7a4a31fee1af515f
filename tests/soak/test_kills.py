"""A stage that calls models resumes after a kill at any point.

No stored reply is requested again, and the outputs are the same bytes.
"""

import hashlib
import os
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

import pytest
import yaml

from flows.engine.pipeline import model_stages, stage_files
from tests.support.clone import SMALL, Clone
from tests.support.endpoints import embedded, journal_lines
from tests.support.killing import BOUNDARIES

pytestmark = pytest.mark.soak

RANDOM_KILLS = 20
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
    with embedded("--journal", str(journal), workers=2) as server:
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


def test_kill_at_random_moments(bench: Bench) -> None:
    draw = random.Random(20)
    kills = 0
    while kills < RANDOM_KILLS:
        for stage in bench.stages:
            bench.forget(stage)
            for _ in range(2):
                seen = len(bench.sent())
                run = bench.start("flows.commands.cli", "stage", stage)
                while run.poll() is None and len(bench.sent()) == seen:
                    time.sleep(0.02)
                time.sleep(draw.random() * 2.0)
                if run.poll() is None:
                    kills += 1
                    os.kill(run.pid, signal.SIGKILL)
                run.wait()
            bench.resume_and_compare(stage)


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
