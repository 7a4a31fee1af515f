"""Finds lineages by name (git revision, DVC experiment, lineage id or ``workspace``) and the files that they made."""

import json
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

import yaml

from flows.engine.lineage import FINGERPRINTS, identities, store_folder
from flows.engine.params import load_params
from flows.engine.workspace import FOLDER, root
from schemas.errors import SourceError
from schemas.params.llm import RoleName
from tasks.tracking.lineage import Lineage, StageLineage, read_lineage

WORKSPACE = "workspace"


@dataclass(frozen=True)
class NamedLineage:
    """A lineage as the user named it; ``revision`` is its git commit, where it has one.

    ``identities``: who answered each role, as its fingerprint file has it, where that is known.
    """

    name: str
    lineage: Lineage
    revision: str | None
    identities: dict[str, dict[str, Any]] = field(default_factory=dict)

    def outputs(self) -> dict[str, tuple[str, str]]:
        """Output paths: path -> (stage, hash)."""
        return {path: (stage.name, md5) for stage in self.lineage.stages for path, md5 in stage.outs.items()}

    def open_output(self, path: str) -> Path:
        """The file of an output, from DVC's cache or, for a git-tracked table, out of its revision."""
        md5 = self.outputs()[path][1]
        cached = root() / ".dvc" / "cache" / "files" / "md5" / md5[:2] / md5[2:]
        if cached.is_file():
            return cached
        if self.revision is not None and (content := _git("show", f"{self.revision}:{path}")) is not None:
            return _keep(md5, path, content)
        raise SourceError(
            f"{self.name}: {path} ({md5}) is not in DVC's cache; get it with: dvc pull "
            + (f"(after git checkout {self.name})" if self.revision else "or dvc fetch --run-cache")
        )


def find_lineage(name: str) -> NamedLineage:
    """The lineage that ``name`` stands for; raises SourceError that lists what a name can be."""
    if name == WORKSPACE:
        lock = root() / "dvc.lock"
        if not lock.exists():
            raise SourceError("workspace: no dvc.lock yet; run make repro first")
        lineage = read_lineage(yaml.safe_load(lock.read_text(encoding="utf-8")))
        return NamedLineage(name, lineage, None, identities(root() / FINGERPRINTS))
    revision = _revision(name)
    if revision is not None:
        content = _git("show", f"{revision}:dvc.lock")
        if content is None:
            raise SourceError(f"{name}: revision {revision[:10]} has no dvc.lock; nothing was run there")
        return NamedLineage(name, read_lineage(yaml.safe_load(content)), revision, _committed(revision))
    return _recorded(name)


def _committed(revision: str) -> dict[str, dict[str, Any]]:
    contents = {role: _git("show", f"{revision}:{FINGERPRINTS}/{role}.json") for role in get_args(RoleName)}
    return {role: json.loads(content) for role, content in contents.items() if content}


def _revision(name: str) -> str | None:
    found = _git("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
    if found:
        return found.decode().strip()
    refs = (_git("for-each-ref", "--format=%(objectname) %(refname)", "refs/exps") or b"").decode().splitlines()
    matches = [line.split()[0] for line in refs if line.split()[1].rsplit("/", 1)[-1] == name]
    return matches[0] if matches else None


def _recorded(name: str) -> NamedLineage:
    from tasks.tracking.mlflow_store import LineageStore

    store = LineageStore(store_folder(), load_params(root() / "params.yaml").record.experiment)
    content = store.content(name)
    if content is None:
        raise SourceError(
            f"{name}: neither a git revision, nor a DVC experiment, nor a recorded lineage id; "
            "vignette compare --list shows those recorded"
        )
    stages = tuple(StageLineage(**stage) for stage in content["stages"].values())
    found = Lineage(content["lineage"], stages)
    return NamedLineage(name, found, None, store.identities(found.id))


def recorded_costs(lineage: Lineage) -> dict[str, float]:
    """What the answers behind a lineage took, as MLflow has it; empty for one that is not recorded in this clone."""
    if not (root() / FOLDER / "mlflow" / "mlflow.db").exists():
        return {}
    from tasks.tracking.mlflow_store import LineageStore

    return LineageStore(store_folder(), load_params(root() / "params.yaml").record.experiment).costs(lineage.id)


def recorded_lineages() -> list[dict[str, Any]]:
    """Every recorded lineage: id, git revision, time."""
    from tasks.tracking.mlflow_store import LineageStore

    return LineageStore(store_folder(), load_params(root() / "params.yaml").record.experiment).overview()


def _git(*arguments: str) -> bytes | None:
    done = subprocess.run(["git", "-C", str(root()), *arguments], capture_output=True, check=False)
    return done.stdout if done.returncode == 0 else None


def _keep(md5: str, path: str, content: bytes) -> Path:
    folder = root() / ".vignette" / "tables"
    folder.mkdir(parents=True, exist_ok=True)
    kept = folder / f"{md5}{Path(path).suffix}"
    kept.write_bytes(content)
    return kept
