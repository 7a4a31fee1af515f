"""Finds lineages by name and opens the files that they made."""

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from flows.repository.cache import cached_file, fetch
from flows.repository.git import git, head_revision, show
from flows.repository.kept_runs import md5_of
from flows.repository.lock import parse_lock, read_lock
from flows.repository.params import load_params
from flows.repository.pipeline import MAIN, model_stages
from flows.repository.surroundings import require_schema
from flows.repository.terminal import aligned
from flows.repository.workspace import FINGERPRINTS, root, workspace
from schemas.errors import SourceError
from schemas.params.llm import RoleName
from tasks.tracking.lineage import Lineage, StageLineage, read_lineage, recorded_mark
from tasks.transport.fingerprint import fingerprint_path

if TYPE_CHECKING:
    from tasks.tracking.mlflow_store import LineageStore

HEADLINES = "reports/metrics.json"
_FILES = [fingerprint_path(FINGERPRINTS, role) for role in get_args(RoleName)]
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
        """The file of an output. Raises SourceError when it is not at hand."""
        if (found := self.find_output(path)) is not None:
            return found
        raise SourceError(
            f"{self.name}: {path} ({self.outputs()[path][1]}) is neither in DVC's cache nor on its remote; run "
            "`dvc push` in the clone that made the lineage"
        )

    def find_output(self, path: str) -> Path | None:
        """The file of an output: from DVC's cache, or for a table that git tracks, from its commit; None in neither."""
        md5, file = self.outputs()[path][1], root() / path
        found = cached_file(md5)
        if found is None and self.name == WORKSPACE and file.is_file():  # if it is still what the lock says
            found = file if md5_of(file) == md5 else None
        if found is None and self.revision is not None:
            content = show(self.revision, path)
        else:  # the cache names no ending, by which a table is read
            content = found.read_bytes() if found is not None and found.suffix != file.suffix == ".csv" else None
        if content is not None:
            found = workspace() / "tables" / f"{md5}{file.suffix}"
            found.parent.mkdir(parents=True, exist_ok=True)
            found.write_bytes(content)
        return found


def fetch_outputs(wanted: Collection[tuple[NamedLineage, str]]) -> list[tuple[NamedLineage, str]]:
    """Download outputs that are not at hand from DVC's remote, print how many, and return those that it lacks."""
    lacking = [(lineage, path) for lineage, path in wanted if lineage.find_output(path) is None]
    if not lacking:
        return []
    hashes = {lineage.outputs()[path][1] for lineage, path in lacking}
    try:
        missing = set(fetch(hashes))
    except SourceError:  # no remote, or it cannot be reached
        return lacking
    fetched = [file for md5 in hashes - missing if (file := cached_file(md5)) is not None]
    if fetched:
        size = sum(file.stat().st_size for file in fetched)
        print(f"fetched {len(fetched)} of {len(hashes)} files ({size / 1e6:.1f} MB) from DVC's remote")
    return [(lineage, path) for lineage, path in lacking if cached_file(lineage.outputs()[path][1]) is None]


def find_lineage(name: str, pipeline: Path = MAIN) -> NamedLineage:
    """The lineage called ``name``: a git revision, a DVC experiment, a recorded lineage id, or ``workspace``.

    Recorded lineages are those of the main pipeline. Raises SourceError when there is none.
    """
    lock = pipeline.with_suffix(".lock")
    if name == WORKSPACE:
        if not (root() / lock).exists():
            raise SourceError(f"workspace: no {lock} yet; run vignette repro --pipeline {pipeline} first")
        files = {path: root() / path for path in _FILES}
        contents = {path: file.read_bytes() for path, file in files.items() if file.is_file()}
        lineage = current_lineage(root(), pipeline)
        return NamedLineage(name, lineage, None, _of_all_stages(lineage, contents))
    revision = _revision(name)
    if revision is not None:
        content = show(revision, lock)
        if content is None:
            raise SourceError(f"{name}: revision {revision[:10]} has no {lock}; nothing was run there")
        lineage = read_lineage(parse_lock(content, f"{name}: {lock}"))
        contents = {path: file for path in _FILES if (file := show(revision, path))}
        return NamedLineage(name, lineage, revision, _of_all_stages(lineage, contents))
    store = recorded_lineages()
    found = store.content(name)
    if found is None:
        raise SourceError(
            f"{name}: neither a git revision, nor a DVC experiment, nor a recorded lineage id; "
            "vignette compare lists the recorded ones"
        )
    stages = tuple(StageLineage(**stage) for stage in found["stages"].values())
    return NamedLineage(name, Lineage(found["lineage"], stages), None, store.identities(found["lineage"]))


def current_lineage(folder: Path = Path(), pipeline: Path = MAIN) -> Lineage:
    """The lineage of a pipeline's lock in ``folder``, by default the working directory: an experiment has its own."""
    return read_lineage(read_lock(folder / pipeline.with_suffix(".lock")))


def _of_all_stages(lineage: Lineage, contents: Mapping[Path, bytes]) -> dict[str, dict[str, Any]]:
    """Fingerprint files by role, but for those that a stage of the lineage did not read as they are.

    After a part of the stages ran, a file is of some of them.
    """
    found = {}
    for path, content in contents.items():
        read = {stage.deps[str(path)] for stage in lineage.stages if str(path) in stage.deps}
        if read <= {hashlib.md5(content).hexdigest()}:
            found[path.stem] = json.loads(content)
    return found


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


def _revision(name: str) -> str | None:
    found = git("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
    if found:
        return found.decode().strip()
    experiments = (git("for-each-ref", "--format=%(objectname) %(refname)", "refs/exps") or b"").decode().splitlines()
    return next((line.split()[0] for line in experiments if line.rpartition("/")[2] == name), None)


def recorded_lineages() -> "LineageStore":
    """The MLflow store of this clone."""
    from tasks.tracking.mlflow_store import LineageStore  # loads mlflow, which takes seconds

    require_schema(store_folder() / "mlflow.db")
    return LineageStore(store_folder(), load_params(root() / "params.yaml").record.experiment)


def list_lineages() -> str:
    """The recorded lineages as text, the newest first: id, time, revision, experiment and models."""
    rows = recorded_lineages().overview()
    head = ("lineage", "recorded (UTC)", "on revision", "experiment", "models")
    lines = [head]
    for row in rows:
        time = datetime.fromtimestamp(row["recorded"] / 1000, UTC).strftime("%Y-%m-%d %H:%M")
        models = ", ".join(dict.fromkeys(row["models"].values()))
        lines.append((row["lineage"], time, row["revision"][:10], row["experiment"], models))
    return "\n".join(aligned(lines)) if rows else "no lineage is recorded in this clone; `vignette repro` records one"


def store_folder() -> Path:
    """The folder of the MLflow store; created when missing."""
    folder = workspace() / "mlflow"
    folder.mkdir(exist_ok=True)
    return folder


def key_figures(named: NamedLineage) -> dict[str, float]:
    """The headline figures of a lineage by ``group/name``, from git or MLflow; empty where neither has them."""
    if HEADLINES in named.outputs() and (file := named.find_output(HEADLINES)) is not None:
        groups = json.loads(file.read_text(encoding="utf-8"))
        return {f"{group}/{name}": value for group, figures in groups.items() for name, value in figures.items()}
    return recorded_lineages().headlines(named.lineage.id) if is_recorded(named.lineage) else {}


def recorded_costs(lineage: Lineage) -> dict[str, float]:
    """The calls, tokens and dollars behind a lineage, from MLflow; empty when it is not recorded in this clone."""
    return recorded_lineages().costs(lineage.id, model_stages(MAIN)) if is_recorded(lineage) else {}


def is_recorded(lineage: Lineage) -> bool:
    """Whether MLflow holds the lineage, without loading mlflow."""
    folder = store_folder()
    return (folder / "mlflow.db").exists() and recorded_mark(folder, lineage.id).exists()
