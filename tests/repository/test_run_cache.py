"""Params that are taken back are no reason to run anything again: DVC's run-cache has the outputs of each stage."""

import sys
from pathlib import Path

import pytest
import yaml
from dvc.repo import Repo

from flows.rebuild.dvc_stage import UNCHANGED
from flows.rebuild.forks import stages_forked
from flows.rebuild.plan import stages_to_run
from flows.repository.pipeline import MAIN
from flows.repository.processes import start_group
from tests.support.imports import ROOT

STAGES = {
    "sample": {"params": ["records"], "outs": ["data/sample"]},
    "review": {
        "deps": ["data/sample", "returned/forms"],
        "outs": ["data/review", {"reports/review.csv": {"cache": False}}],
    },
    "report": {"deps": ["reports/review.csv"], "outs": ["data/report"]},
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A small pipeline like dvc.yaml, whose stages join what they read and log that they ran."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    Repo.init(no_scm=True).close()
    stages = {}
    for name, stage in STAGES.items():
        outs = [next(iter(out)) if isinstance(out, dict) else out for out in stage["outs"]]
        read = "cat params.yaml" if name == "sample" else f"find {' '.join(stage['deps'])} -type f | sort | xargs cat"
        stages[name] = {"cmd": f"echo {name} >> ran; ({read}) | tee {' '.join(outs)} > /dev/null", **stage}
    MAIN.write_text(yaml.safe_dump({"stages": stages}, sort_keys=False))
    for folder in ("data", "reports", "returned/forms"):
        Path(folder).mkdir(parents=True)
    Path("returned/forms/.gitkeep").touch()


def stages_run(records: int) -> list[str]:
    """Rebuild with that many records, as `vignette repro` does; returns the stages whose command ran."""
    Path("params.yaml").write_text(f"records: {records}\n")
    Path("ran").unlink(missing_ok=True)
    for name in stages_to_run(MAIN):
        command = [sys.executable, "-m", "flows.rebuild.dvc_stage", f"{MAIN}:{name}"]
        assert start_group(command, {}).wait() in (0, UNCHANGED)
    return sorted(Path("ran").read_text().split()) if Path("ran").exists() else []


def test_going_back_to_former_params_runs_only_what_depends_on_a_form_imported_since(project: None) -> None:
    with stages_forked(len(STAGES)):
        assert stages_run(1000) == sorted(STAGES)
        before = {path: path.read_text() for path in (Path("data/report"), Path("reports/review.csv"))}
        assert stages_run(10) == sorted(STAGES)
        assert stages_run(1000) == []
        assert {path: path.read_text() for path in before} == before
        Path("returned/forms/a.json").write_text("a form")
        assert stages_run(1000) == ["report", "review"]
