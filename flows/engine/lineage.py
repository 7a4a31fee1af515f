"""Gathers what a lineage is recorded with: lock, tables, git revision, fingerprints, environment."""

import json
import os
import platform
import subprocess
from contextlib import closing
from importlib.metadata import version
from pathlib import Path
from typing import Any, get_args

import yaml

from flows.engine.pipeline import read_pipeline
from flows.engine.workspace import workspace
from schemas.params.llm import RoleName
from tasks.llm.database import connect
from tasks.llm.fingerprint import read_fingerprint
from tasks.tracking.lineage import Lineage, read_lineage

PACKAGES = ("prefect", "dvc", "openai", "pgmpy", "sentence-transformers", "xgboost", "mlflow", "pandera", "torch")
FINGERPRINTS = Path("fingerprints")
STORE = "responses.sqlite"


def current_lineage(pipeline: Path = Path("dvc.yaml")) -> Lineage:
    """The lineage of the lock file beside ``pipeline``."""
    lock = yaml.safe_load(pipeline.with_suffix(".lock").read_text(encoding="utf-8")) or {}
    return read_lineage(lock)


def metric_tables(pipeline: Path = Path("dvc.yaml")) -> dict[str, list[Path]]:
    """The CSV tables that each stage declares and has written."""
    tables: dict[str, list[Path]] = {}
    for name, stage in read_pipeline(pipeline).items():
        declared = [entry for kind in ("outs", "metrics", "plots") for entry in stage.get(kind, [])]
        paths = [Path(next(iter(entry)) if isinstance(entry, dict) else entry) for entry in declared]
        tables[name] = [path for path in paths if path.suffix == ".csv" and path.exists()]
    return tables


def tags() -> dict[str, str]:
    """What every run of a lineage is tagged with."""
    return {**_git(), **_fingerprints(), **_environment(), **costs()}


def _git() -> dict[str, str]:
    def ask(*arguments: str) -> str:
        return subprocess.run(["git", *arguments], capture_output=True, text=True, check=False).stdout.strip()

    return {
        "git.revision": ask("rev-parse", "HEAD"),
        "git.dirty": str(bool(ask("status", "--porcelain", "--untracked-files=no"))).lower(),
        "dvc.experiment": os.environ.get("DVC_EXP_NAME", ""),
    }


def _fingerprints() -> dict[str, str]:
    # Without the canary replies: a tag has no room for them, and cut off it could not be read.
    kept = {
        role: {"identity": who["identity"], "epoch": who["epoch"]} for role, who in identities(FINGERPRINTS).items()
    }
    return {f"fingerprint.{role}": json.dumps(content, sort_keys=True) for role, content in kept.items()}


def identities(folder: Path) -> dict[str, dict[str, Any]]:
    """The content of each role's fingerprint file in ``folder``, by role."""
    files = {role: folder / f"{role}.json" for role in get_args(RoleName)}
    return {role: json.loads(file.read_text(encoding="utf-8")) for role, file in files.items() if file.exists()}


def costs() -> dict[str, str]:
    """What the answers behind these artefacts took, by stage, whenever they were paid: calls, tokens, dollars.

    Counts the kept replies of the present role identities, so what other params asked of the same models is in it too.
    """
    path = workspace() / STORE
    if not path.exists():
        return {}
    recorded = [read_fingerprint(FINGERPRINTS / f"{role}.json", role) for role in get_args(RoleName)]
    with closing(connect(path)) as connection:
        rows = connection.execute(
            "SELECT stage, COUNT(*), SUM(prompt_tokens), SUM(completion_tokens), SUM(dollars) FROM responses "
            f"WHERE identity IN ({','.join('?' * len(recorded))}) GROUP BY stage ORDER BY stage",
            [found.key for found in recorded if found is not None],
        ).fetchall()
    names = ("calls", "prompt_tokens", "completion_tokens", "dollars")
    return {
        f"cost.{stage}.{name}": f"{value:g}"
        for stage, *values in rows
        for name, value in zip(names, values, strict=True)
    }


def _environment() -> dict[str, str]:
    packages = {f"package.{name}": version(name) for name in PACKAGES}
    return {**packages, "python": platform.python_version(), "machine": platform.machine(), "cpu": cpu()}


def cpu() -> str:
    """The processor as it names itself."""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or "unknown"


def store_folder() -> Path:
    """Where the MLflow store lies."""
    folder = workspace() / "mlflow"
    folder.mkdir(exist_ok=True)
    return folder
