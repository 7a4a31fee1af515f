"""Finds lineages by name and opens the files that they made."""

import json
import subprocess
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import yaml

from flows.engine.cache import cached_file, fetch
from flows.engine.params import load_params
from flows.engine.pipeline import MAIN
from flows.engine.workspace import FINGERPRINTS, root, workspace
from schemas.errors import SourceError
from schemas.params.llm import RoleName
from tasks.llm.fingerprint import fingerprint_path
from tasks.tracking.lineage import Lineage, StageLineage, read_lineage, recorded_mark

if TYPE_CHECKING:
    from tasks.tracking.mlflow_store import LineageStore

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
        if self.revision is not None and (content := git("show", f"{self.revision}:{path}")) is not None:
            return _keep(md5, path, content)
        raise SourceError(
            f"{self.name}: {path} ({md5}) is neither in DVC's cache nor on its remote; run `dvc push` in the clone "
            "that made the lineage"
        )


def fetch_outputs(wanted: Collection[tuple[NamedLineage, str]]) -> None:
    """Download outputs that are neither in DVC's cache nor in git from DVC's remote, and print how many."""
    hashes = {
        lineage.outputs()[path][1]: path
        for lineage, path in wanted
        if not cached_file(lineage.outputs()[path][1]) and not (lineage.revision and _in_git(lineage.revision, path))
    }
    if not hashes:
        return
    missing = fetch(hashes)
    size = sum(file.stat().st_size for md5 in hashes if (file := cached_file(md5)) is not None)
    print(f"fetched {len(hashes) - len(missing)} files ({size / 1e6:.1f} MB) from DVC's remote")


def _in_git(revision: str, path: str) -> bool:
    return git("cat-file", "-e", f"{revision}:{path}") is not None


def find_lineage(name: str, pipeline: Path = MAIN) -> NamedLineage:
    """The lineage called ``name``: a git revision, a DVC experiment, a recorded lineage id, or ``workspace``.

    Recorded lineages are those of the main pipeline. Raises SourceError when there is none.
    """
    lock = pipeline.with_suffix(".lock")
    if name == WORKSPACE:
        if not (root() / lock).exists():
            raise SourceError(f"workspace: no {lock} yet; run vignette repro --pipeline {pipeline} first")
        return NamedLineage(name, current_lineage(root(), pipeline), None, identities(root() / FINGERPRINTS))
    revision = _revision(name)
    if revision is not None:
        content = git("show", f"{revision}:{lock}")
        if content is None:
            raise SourceError(f"{name}: revision {revision[:10]} has no {lock}; nothing was run there")
        return NamedLineage(name, read_lineage(_load(content)), revision, _committed_identities(revision))
    return _recorded(name)


def current_lineage(folder: Path = Path(), pipeline: Path = MAIN) -> Lineage:
    """The lineage of a pipeline's lock in ``folder``, by default the working directory: an experiment has its own."""
    lock = folder / pipeline.with_suffix(".lock")
    return read_lineage(_load(lock.read_text(encoding="utf-8")) or {})


def identities(folder: Path) -> dict[str, dict[str, Any]]:
    """The content of each role's fingerprint file in ``folder``, by role."""
    files = {role: fingerprint_path(folder, role) for role in get_args(RoleName)}
    return {role: json.loads(file.read_text(encoding="utf-8")) for role, file in files.items() if file.exists()}


def run_name(revision: str | None = None, folder: Path = Path()) -> str:
    """``<revision> <writer>/<judge>`` of a working tree."""
    short = (revision or head_revision())[:7] or "uncommitted"
    return f"{short} {model_name('writer', folder)}/{model_name('judge', folder)}"


def model_name(role: str, folder: Path = Path()) -> str:
    """The model that answered a role, or the one asked for where the endpoint names none."""
    identity = identities(folder / FINGERPRINTS).get(role, {}).get("identity", {})
    return str(identity.get("answered") or identity.get("asked") or "unknown")


def head_revision() -> str:
    """The commit that the working directory's tree has checked out; empty if there is none."""
    return (git("rev-parse", "HEAD", folder=Path()) or b"").decode().strip()


def _committed_identities(revision: str) -> dict[str, dict[str, Any]]:
    contents = {role: git("show", f"{revision}:{FINGERPRINTS}/{role}.json") for role in get_args(RoleName)}
    return {role: json.loads(content) for role, content in contents.items() if content}


def _revision(name: str) -> str | None:
    found = git("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
    if found:
        return found.decode().strip()
    experiments = (git("for-each-ref", "--format=%(objectname) %(refname)", "refs/exps") or b"").decode()
    for line in experiments.splitlines():
        commit, reference = line.split()
        if reference.rsplit("/", 1)[-1] == name:
            return commit
    return None


def git(*arguments: str, folder: Path | None = None) -> bytes | None:
    """Output of a git command in ``folder`` (default: the root); None when it fails."""
    done = subprocess.run(["git", *arguments], cwd=folder or root(), capture_output=True, check=False)
    return done.stdout if done.returncode == 0 else None


def _keep(md5: str, path: str, content: bytes) -> Path:
    folder = workspace() / "tables"
    folder.mkdir(parents=True, exist_ok=True)
    kept = folder / f"{md5}{Path(path).suffix}"
    kept.write_bytes(content)
    return kept


def _load(text: str | bytes) -> Any:
    """Parse a dvc.lock; libyaml, where PyYAML has it, takes a tenth of the time."""
    return yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))


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
    return recorded_lineages().costs(lineage.id) if is_recorded(lineage) else {}


def is_recorded(lineage: Lineage) -> bool:
    """Whether MLflow holds the lineage, without loading mlflow."""
    folder = store_folder()
    return (folder / "mlflow.db").exists() and recorded_mark(folder, lineage.id).exists()
