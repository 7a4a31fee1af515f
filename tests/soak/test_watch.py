"""The watch as a user runs it: a Prefect server, a served schedule, and an endpoint whose models are exchanged.

Stages that depend on the model, and no others, are rebuilt within two intervals in the watch's tree, each lineage is
committed, tagged and pushed, and the comparison names the change. The files of the clone stay as they are.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from flows.engine.pipeline import read_pipeline, with_dependents
from tests.support.clone import SMALL, Clone
from tests.support.endpoints import embedded

pytestmark = pytest.mark.soak

INTERVAL = 300
"""Seconds; a rebuild of this small DAG must fit into one of them, on two busy cores."""

ROLES = ("writer", "annotator", "judge", "answerer")


@dataclass
class Watched:
    """A clone whose roles have separate model names, built once and watched on a schedule."""

    clone: Clone
    aliases: Path
    output: Path
    models: dict[str, str] = field(default_factory=lambda: {role: f"vignette-{role}" for role in ROLES})

    def exchange(self, role: str, model: str) -> None:
        """Serve another model under a role's name, while endpoint and watch keep running."""
        self.models[role] = model
        partial = self.aliases.with_suffix(".partial")
        partial.write_text(json.dumps(self.models))
        partial.replace(self.aliases)

    def lock(self) -> dict[str, Any]:
        """The stages of the last lineage's dvc.lock."""
        return dict(yaml.safe_load(self.clone.git("show", "lineages:dvc.lock"))["stages"])

    @property
    def tree(self) -> Path:
        """The tree in which the watch rebuilds."""
        return self.clone.folder / ".vignette" / "watch"

    def outcomes(self) -> list[str]:
        """The outcome of each round, as printed by the watch."""
        lines = self.output.read_text().splitlines()
        return [line[line.index("watch: ") :] for line in lines if "watch: " in line]

    def wait_for(self, word: str, seconds: float, seen: int) -> str:
        """The first outcome after ``seen`` ones that starts with ``word``; fails after ``seconds``."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            found = [line for line in self.outcomes()[seen:] if line.startswith(f"watch: {word}")]
            if found:
                return found[0]
            time.sleep(1)
        raise AssertionError(f"no '{word}' within {seconds:.0f} s: {self.output.read_text()[-4000:]}")

    def wait_until_rebuilding(self, seconds: float) -> None:
        """Return as soon as DVC runs."""
        seen, end = self.output.read_text().count("Running stage"), time.monotonic() + seconds
        while self.output.read_text().count("Running stage") == seen:
            assert time.monotonic() < end, self.output.read_text()[-4000:]
            time.sleep(0.2)

    def bytes_of(self, *names: str) -> dict[str, bytes]:
        """Bytes of artefacts in the tree."""
        return {name: (self.tree / name).read_bytes() for name in names}


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    folder = tmp_path_factory.mktemp("watch")
    (folder / "clone").mkdir()
    clone, aliases, output = Clone(folder / "clone"), folder / "aliases.json", folder / "watch.out"
    found = Watched(clone, aliases, output)
    found.exchange("writer", "vignette-writer")
    with embedded("--aliases", str(aliases), workers=2) as server:
        params = yaml.safe_load((clone.folder / "params.yaml").read_text())
        for name, role in params["roles"].items():
            role |= {"base_url": server.base_url, "model": name}
        clone.set_params(roles=params["roles"], watch__every_seconds=INTERVAL, **SMALL)
        clone.vignette("repro", timeout=3000)
        with output.open("w") as sink:
            serving = subprocess.Popen(
                [sys.executable, "-m", "flows.commands.cli", "watch", "serve"],
                cwd=clone.folder,
                env={**clone.environment, "PYTHONUNBUFFERED": "1"},
                stdout=sink,
                stderr=sink,
                start_new_session=True,
            )
        try:
            assert "(branch HEAD)" in found.wait_for("rebuilt", 3 * INTERVAL, 0)  # the first lineage
            yield found
        finally:
            serving.terminate()
            try:
                serving.wait(timeout=60)
            finally:
                clone.vignette("server", "stop")
                if serving.poll() is None:
                    os.killpg(serving.pid, signal.SIGKILL)


def depending(clone: Clone, role: str) -> set[str]:
    """The stage that probes the role, those that call it, and those that depend on these, from dvc.yaml alone."""
    return set(with_dependents(read_pipeline(clone.folder / "dvc.yaml"), [f"probe@{role}"]))


def ran(watched: Watched, text: str) -> set[str]:
    """Stages that ran, according to the output of the rebuild."""
    begun, skipped = (
        {line.split("'")[1] for line in text.splitlines() if words in line}
        for words in ("Running stage '", "' didn't change, skipping")
    )
    return begun - skipped


def rebuilt_after(watched: Watched, role: str, model: str) -> tuple[str, set[str], float]:
    """Exchange a role's model: (output of the watch, stages that ran, seconds)."""
    start, before, seen = time.monotonic(), len(watched.output.read_text()), len(watched.outcomes())
    watched.exchange(role, model)
    said = watched.wait_for("rebuilt", 2 * INTERVAL, seen)
    return said, ran(watched, watched.output.read_text()[before:]), time.monotonic() - start


def test_another_judge_rebuilds_evaluation_only(watched: Watched) -> None:
    notes = ["data/write/first_notes.parquet", "data/filter/notes.parquet", "data/compact/compact_notes.parquet"]
    kept, lock = watched.bytes_of(*notes), watched.lock()
    said, stages, seconds = rebuilt_after(watched, "judge", "vignette-judge@2")
    print(f"\njudge: rebuilt after {seconds:.0f} s (interval {INTERVAL} s): {', '.join(sorted(stages))}")
    assert "(judge)" in said
    allowed = depending(watched.clone, "judge")
    assert {"doclens", "med_omit", "note_qa", "review", "report", "record"} <= stages <= allowed
    assert not allowed & {"sample", "prompt", "write", "filter", "compact", "span", "embed", "baselines"}
    assert watched.bytes_of(*notes) == kept
    now = watched.lock()
    assert {name for name in now if now[name] != lock[name]} == stages
    page = named_page(watched, said)
    assert "answered vignette-judge@2" in page and "doclens" in page


def named_page(watched: Watched, said: str) -> str:
    """The page named by the watch; its table must exist as well."""
    page = watched.clone.folder / said.split("comparison in ")[1].strip()
    assert page.parent == watched.clone.folder / "reports" / "comparisons"
    assert page.with_suffix(".csv").exists()
    return page.read_text()


def test_a_failed_rebuild_adds_no_lineage_and_rounds_do_not_overlap(watched: Watched) -> None:
    before, seen = watched.clone.git("rev-parse", "lineages"), len(watched.outcomes())
    # The annotator's rules do not serve the answerer's tasks: every call of note_qa is refused.
    watched.exchange("answerer", "vignette-annotator")
    watched.wait_until_rebuilding(2 * INTERVAL)
    second = watched.clone.vignette("watch", "once", check=False)
    said = watched.wait_for("failed", 2 * INTERVAL, seen)
    assert "skipped: another round of the watch is in progress" in second.stdout
    assert "(answerer)" in said and "no lineage was added" in said
    assert watched.clone.git("rev-parse", "lineages") == before
    watched.exchange("answerer", "vignette-answerer")


def test_a_killed_prefect_server_is_started_again(watched: Watched) -> None:
    file = watched.clone.folder / ".vignette" / "prefect-server.json"
    os.killpg(json.loads(file.read_text())["pid"], signal.SIGKILL)
    said, stages, _ = rebuilt_after(watched, "judge", "vignette-judge@3")
    assert "(judge)" in said and "doclens" in stages


def test_a_lineage_is_restored_in_a_fresh_clone_by_git_clone_and_dvc_pull(watched: Watched, tmp_path: Path) -> None:
    (tag,) = watched.clone.git("tag", "--points-at", "lineages").split()
    subprocess.run(
        ["git", "clone", "-q", "--branch", tag, str(watched.clone.folder), str(tmp_path / "clone")], check=True
    )
    remote = watched.clone.folder.parent / "vignette-dvc-remote"
    (tmp_path / "vignette-dvc-remote").symlink_to(remote)
    pulled = subprocess.run([sys.executable, "-m", "dvc", "pull"], cwd=tmp_path / "clone", check=False)
    assert pulled.returncode == 0
    for path in ("data/filter/notes.parquet", "data/doclens/doclens_scores.parquet", "reports/tables/doclens.csv"):
        assert (tmp_path / "clone" / path).read_bytes() == (watched.tree / path).read_bytes()


def test_another_writer_rebuilds_the_stages_that_depend_on_it(watched: Watched) -> None:
    lock = watched.lock()
    said, stages, seconds = rebuilt_after(watched, "writer", "vignette-writer-calibration")
    print(f"\nwriter: rebuilt after {seconds:.0f} s (interval {INTERVAL} s): {', '.join(sorted(stages))}")
    assert "(writer)" in said
    assert {"write", "filter", "compact", "span", "doclens", "baselines", "report"} <= stages
    assert stages <= depending(watched.clone, "writer")
    assert not stages & {"sample", "network", "prompt", "split", "baseline_bn_tab", "baseline_xgboost_tab"}
    now = watched.lock()
    assert {name for name in now if now[name] != lock[name]} == stages
    assert "answered vignette-writer-calibration" in named_page(watched, said)
