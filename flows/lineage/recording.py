"""Gathers everything that the lineage of the working directory is recorded with."""

import json
import os
import platform
from importlib.metadata import version
from pathlib import Path

from flows.lineage.lineage import HEADLINES, identities, model_name, run_name
from flows.lineage.report import SHOWN
from flows.repository.git import changed_files, head_revision
from flows.repository.kept_runs import find_run
from flows.repository.pipeline import MAIN, declared_outputs, read_pipeline
from flows.repository.workspace import FINGERPRINTS
from tasks.reporting.headlines import FIGURES
from tasks.tracking.differences import stages_behind
from tasks.tracking.lineage import Lineage
from tasks.tracking.recording import Recording, headline_stages

PACKAGES = ("prefect", "dvc", "openai", "pgmpy", "sentence-transformers", "xgboost", "mlflow", "pandera", "torch")
"""Packages whose versions are recorded with a lineage."""


def gather(lineage: Lineage) -> Recording:
    """The recording of the working directory's lineage."""
    runs = {stage.name: run for stage in lineage.stages if (run := find_run(stage)) is not None}
    tables = {group: next(iter(figures.values()))[0] for group, figures in FIGURES.items()}
    is_whole = not stages_behind(lineage)  # else figures and report are of an earlier lineage
    figures = json.loads(Path(HEADLINES).read_text(encoding="utf-8")) if is_whole and Path(HEADLINES).exists() else {}
    owners = headline_stages({**tables, "f1": "baselines"}, lineage.stages)
    written = [Path(path) for stage in read_pipeline(MAIN).values() for path in declared_outputs(stage)]
    return Recording(
        name=run_name(),
        tags=tags(),
        models={role: model_name(role) for role in identities(FINGERPRINTS)},
        headlines=figures,
        headline_stages={group: stage for group, stage in owners.items() if group in figures},
        runs=runs,
        tables=[path for path in written if path.suffix == ".csv" and path.exists()],
        files={"report": SHOWN} if is_whole and SHOWN.exists() else {},
    )


def tags() -> dict[str, str]:
    """The tags of every run of a lineage: git state, fingerprints and environment."""
    state = {
        "git.revision": head_revision(),
        "git.dirty": str(changed_files(folder=Path())).lower(),
        "dvc.experiment": os.environ.get("DVC_EXP_NAME", ""),
    }
    # Without the canary replies, which exceed the length of a tag.
    fingerprints = {
        f"fingerprint.{role}": json.dumps({"identity": found["identity"], "epoch": found["epoch"]}, sort_keys=True)
        for role, found in identities(FINGERPRINTS).items()
    }
    packages = {f"package.{name}": version(name) for name in PACKAGES}
    machine = {"python": platform.python_version(), "machine": platform.machine(), "cpu": cpu()}
    return {**state, **fingerprints, **packages, **machine}


def cpu() -> str:
    """The processor's model name."""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or "unknown"
