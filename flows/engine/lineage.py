"""Finds lineages by name, opens the files that they made, and gathers the tags that a lineage is recorded with."""

import json
import os
import platform
import subprocess
from contextlib import closing
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import yaml

from flows.engine.cache import cached_file
from flows.engine.params import load_params
from flows.engine.pipeline import MAIN, declared_outputs, read_pipeline
from flows.engine.workspace import FINGERPRINTS, STORE, root, workspace
from schemas.errors import SourceError
from schemas.params.llm import RoleName
from tasks.llm.database import connect, exists
from tasks.llm.fingerprint import fingerprint_path, read_fingerprint
from tasks.tracking.lineage import Lineage, StageLineage, read_lineage

if TYPE_CHECKING:
    from tasks.tracking.mlflow_store import LineageStore

PACKAGES = ("prefect", "dvc", "openai", "pgmpy", "sentence-transformers", "xgboost", "mlflow", "pandera", "torch")
"""Packages whose versions are recorded with a lineage."""

WORKSPACE = "workspace"
"""Name of the lineage of the working tree's dvc.lock."""


@dataclass(frozen=True)
class NamedLineage:
    """A lineage under the name that the user gave; ``revision`` is its git commit, if it has one.

    ``identities`` holds the content of each role's fingerprint file, if it is known.
    """

    name: str
    lineage: Lineage
    revision: str | None
    identities: dict[str, dict[str, Any]] = field(default_factory=dict)

    def outputs(self) -> dict[str, tuple[str, str]]:
        """Stage and hash of each output, by path."""
        return {path: (stage.name, md5) for stage in self.lineage.stages for path, md5 in stage.outs.items()}

    def open_output(self, path: str) -> Path:
        """The file of an output: from DVC's cache, or for a table that git tracks, from its commit.

        Raises SourceError when neither has it.
        """
        md5 = self.outputs()[path][1]
        cached = cached_file(md5)
        if cached is not None:
            return cached
        if self.revision is not None and (content := _git("show", f"{self.revision}:{path}")) is not None:
            return _keep(md5, path, content)
        raise SourceError(
            f"{self.name}: {path} ({md5}) is not in DVC's cache; get it with: dvc pull "
            + (f"(after git checkout {self.name})" if self.revision else "or dvc fetch --run-cache")
        )


def find_lineage(name: str) -> NamedLineage:
    """The lineage called ``name``: a git revision, a DVC experiment, a recorded lineage id, or ``workspace``.

    Raises SourceError when there is none.
    """
    if name == WORKSPACE:
        if not (root() / MAIN.with_suffix(".lock")).exists():
            raise SourceError("workspace: no dvc.lock yet; run make repro first")
        return NamedLineage(name, current_lineage(root()), None, identities(root() / FINGERPRINTS))
    revision = _revision(name)
    if revision is not None:
        content = _git("show", f"{revision}:dvc.lock")
        if content is None:
            raise SourceError(f"{name}: revision {revision[:10]} has no dvc.lock; nothing was run there")
        return NamedLineage(name, read_lineage(yaml.safe_load(content)), revision, _committed_identities(revision))
    return _recorded(name)


def current_lineage(folder: Path = Path()) -> Lineage:
    """The lineage of ``folder``/dvc.lock; the default is the working directory, as an experiment's copy has its own."""
    lock = folder / MAIN.with_suffix(".lock")
    return read_lineage(yaml.safe_load(lock.read_text(encoding="utf-8")) or {})


def identities(folder: Path) -> dict[str, dict[str, Any]]:
    """The content of each role's fingerprint file in ``folder``, by role."""
    files = {role: fingerprint_path(folder, role) for role in get_args(RoleName)}
    return {role: json.loads(file.read_text(encoding="utf-8")) for role, file in files.items() if file.exists()}


def _committed_identities(revision: str) -> dict[str, dict[str, Any]]:
    contents = {role: _git("show", f"{revision}:{FINGERPRINTS}/{role}.json") for role in get_args(RoleName)}
    return {role: json.loads(content) for role, content in contents.items() if content}


def _revision(name: str) -> str | None:
    found = _git("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
    if found:
        return found.decode().strip()
    experiments = (_git("for-each-ref", "--format=%(objectname) %(refname)", "refs/exps") or b"").decode()
    for line in experiments.splitlines():
        commit, reference = line.split()
        if reference.rsplit("/", 1)[-1] == name:
            return commit
    return None


def _git(*arguments: str, folder: Path | None = None) -> bytes | None:
    done = subprocess.run(["git", *arguments], cwd=folder or root(), capture_output=True, check=False)
    return done.stdout if done.returncode == 0 else None


def _keep(md5: str, path: str, content: bytes) -> Path:
    folder = workspace() / "tables"
    folder.mkdir(parents=True, exist_ok=True)
    kept = folder / f"{md5}{Path(path).suffix}"
    kept.write_bytes(content)
    return kept


def recorded_lineages() -> "LineageStore":
    """The MLflow store of this clone."""
    from tasks.tracking.mlflow_store import LineageStore  # loads mlflow, which takes seconds

    return LineageStore(store_folder(), load_params(root() / "params.yaml").record.experiment)


def store_folder() -> Path:
    """The folder of the MLflow store; created when missing."""
    folder = workspace() / "mlflow"
    folder.mkdir(exist_ok=True)
    return folder


def _recorded(name: str) -> NamedLineage:
    store = recorded_lineages()
    content = store.content(name)
    if content is None:
        raise SourceError(
            f"{name}: neither a git revision, nor a DVC experiment, nor a recorded lineage id; "
            "vignette compare --list shows the recorded ones"
        )
    stages = tuple(StageLineage(**stage) for stage in content["stages"].values())
    found = Lineage(content["lineage"], stages)
    return NamedLineage(name, found, None, store.identities(found.id))


def recorded_costs(lineage: Lineage) -> dict[str, float]:
    """The calls, tokens and dollars behind a lineage, from MLflow; empty when it is not recorded in this clone."""
    if not (store_folder() / "mlflow.db").exists():
        return {}
    return recorded_lineages().costs(lineage.id)


def metric_tables() -> dict[str, list[Path]]:
    """The CSV tables that each stage declares and has written."""
    tables = {}
    for name, stage in read_pipeline(MAIN).items():
        paths = map(Path, declared_outputs(stage))
        tables[name] = [path for path in paths if path.suffix == ".csv" and path.exists()]
    return tables


def tags() -> dict[str, str]:
    """The tags of every run of a lineage: git state, fingerprints, environment and costs."""
    here = Path()
    git = {
        "git.revision": (_git("rev-parse", "HEAD", folder=here) or b"").decode().strip(),
        "git.dirty": str(bool(_git("status", "--porcelain", "--untracked-files=no", folder=here))).lower(),
        "dvc.experiment": os.environ.get("DVC_EXP_NAME", ""),
    }
    # Without the canary replies, which exceed the length of a tag.
    fingerprints = {
        f"fingerprint.{role}": json.dumps({"identity": found["identity"], "epoch": found["epoch"]}, sort_keys=True)
        for role, found in identities(FINGERPRINTS).items()
    }
    packages = {f"package.{name}": version(name) for name in PACKAGES}
    machine = {"python": platform.python_version(), "machine": platform.machine(), "cpu": cpu()}
    return {**git, **fingerprints, **packages, **machine, **costs()}


def costs() -> dict[str, str]:
    """Calls, tokens and dollars of the stored replies of the recorded models, by stage, whenever they were paid.

    Replies to requests under other params count as well.
    """
    where = load_params().runtime.store or workspace() / STORE
    if not exists(where):
        return {}
    recorded = [read_fingerprint(fingerprint_path(FINGERPRINTS, role), role) for role in get_args(RoleName)]
    with closing(connect(where)) as connection:
        rows = connection.execute(
            "SELECT stage, COUNT(*), CAST(SUM(prompt_tokens) AS BIGINT), CAST(SUM(completion_tokens) AS BIGINT), "
            "SUM(dollars) FROM responses "
            f"WHERE identity IN ({','.join('?' * len(recorded))}) GROUP BY stage ORDER BY stage",
            [found.key for found in recorded if found is not None],
        ).fetchall()
    names = ("calls", "prompt_tokens", "completion_tokens", "dollars")
    return {
        f"cost.{stage}.{name}": f"{value:g}"
        for stage, *values in rows
        for name, value in zip(names, values, strict=True)
    }


def cpu() -> str:
    """The processor's model name."""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or "unknown"
