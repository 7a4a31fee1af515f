"""Clones made for the lineages of a strong model whose replies ship with the project."""

import hashlib
import os
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from flows.repository.git import git, git_text, without_git
from flows.repository.params import STARTED_BY
from flows.repository.pipeline import MAIN, declared_outputs, read_pipeline
from flows.repository.workspace import FOLDER, STORE, root
from schemas.errors import VignetteError

CASSETTES = Path("tests/cassettes")
"""A folder for each recorded lineage, and the fingerprints of the model that all have in common."""
_PARAMS, _REPLIES = "params.yaml", "replies.jsonl.gz"
RULES, RECORDED = "rules", "strong-model"
"""Git tags of the simulator's and the recorded lineage."""
_MARK, _BUILDING = "vignette.own-clone", "building"
"""Git setting of the clones made here: the state in which they were left, or that they are not complete."""

_STATE = (".vignette/", ".dvc/", "prefect.toml")
"""What any command in a clone writes."""
_BUILT = ("params.yaml", "dvc.lock", "reports/index.html", "reports/papers.html")
_BUILT_IN = ("fingerprints/", "reports/comparisons/", f"{CASSETTES}/")
"""What a build writes besides the outputs of its stages."""


@dataclass(frozen=True)
class Cassette:
    """The files of a recorded lineage, relative to a clone; its name is that of its domain."""

    name: str

    @property
    def params(self) -> Path:
        """What the lineage sets otherwise than the shipped params."""
        return CASSETTES / self.name / _PARAMS

    @property
    def replies(self) -> Path:
        return CASSETTES / self.name / _REPLIES


def cassettes() -> list[Cassette]:
    """The recorded lineages that ship with the project, in order of their names."""
    return [Cassette(file.parent.name) for file in sorted((root() / CASSETTES).glob(f"*/{_PARAMS}"))]


def cassette(name: str) -> Cassette:
    """The recorded lineage of a name. Raises VignetteError if there is none."""
    known = {found.name: found for found in cassettes()}
    if name not in known:
        raise VignetteError(f"no lineage {name!r} is recorded; there are: {', '.join(known)}")
    return known[name]


def recorded_params(folder: Path, recorded: Cassette) -> dict[str, Any]:
    """The params of a recorded lineage in a clone: the shipped ones, and what the lineage sets otherwise."""
    files = folder / "params.yaml", folder / recorded.params
    shipped, changes = (yaml.safe_load(file.read_text(encoding="utf-8")) for file in files)
    return _changed(shipped, changes)


class RecordedClone:
    """A clone of the last commit in ``folder``, in place of an earlier one, to build a recorded lineage and the rules'.

    Replies in the store of an earlier one are kept: a build that stopped may have paid for them. Raises VignetteError
    if the folder holds anything but an earlier clone made here.
    """

    def __init__(self, folder: Path, recorded: Cassette) -> None:
        self.folder, self.recorded = folder, recorded
        earlier = {file.name: file.read_bytes() for file in (folder / FOLDER).glob(f"{STORE}*")}
        if folder.exists():
            _require_own(folder)
            shutil.rmtree(folder)
        git_text("clone", "--quiet", str(root()), str(folder), folder=root())
        git_text("config", _MARK, _BUILDING, folder=folder)
        (folder / FOLDER).mkdir(exist_ok=True)
        for name, stored in earlier.items():
            (folder / FOLDER / name).write_bytes(stored)

    def complete(self) -> None:
        """Note the state in which the clone is left; once it is changed, no later clone replaces it."""
        git_text("config", _MARK, _state(self.folder), folder=self.folder)

    def vignette(self, *arguments: str) -> None:
        """Run a ``vignette`` command in the clone. Raises VignetteError if it fails."""
        command = [sys.executable, "-m", "flows.commands.cli", *arguments]
        environment = {**without_git(os.environ), STARTED_BY: shlex.join(["vignette", *sys.argv[1:]])}
        done = subprocess.run(command, cwd=self.folder, env=environment, check=False)
        if done.returncode != 0:
            raise VignetteError(
                f"vignette {' '.join(arguments)}, in {self.folder}, ended with status {done.returncode}; see its output"
            )

    def set_params(self, text: str) -> None:
        """Replace the clone's params.yaml."""
        (self.folder / "params.yaml").write_text(text, encoding="utf-8")

    def build_rules(self) -> None:
        """Build the lineage with the simulator in all roles, on the records of the recorded one."""
        shipped = yaml.safe_load((self.folder / "params.yaml").read_text(encoding="utf-8"))
        params = recorded_params(self.folder, self.recorded) | {"roles": shipped["roles"]}
        # The simulator does not know the prompts of the paper's protocol.
        params["note_qa"]["protocol"] = shipped["note_qa"]["protocol"]
        self.set_params(yaml.safe_dump(params, sort_keys=False))
        self._build(RULES, "--keep-server")  # for the recorded lineage, whose build stops it

    def build_recorded(self) -> None:
        """Build the recorded lineage; only calls without a recorded reply reach the endpoint in its params."""
        for fingerprint in sorted((self.folder / CASSETTES / "fingerprints").glob("*.json")):
            shutil.copy(fingerprint, self.folder / "fingerprints")
        self.set_params(yaml.safe_dump(recorded_params(self.folder, self.recorded), sort_keys=False))
        if (self.folder / self.recorded.replies).exists():  # not in a lineage that is recorded for the first time
            self.vignette("store", "import", str(self.recorded.replies))
        self._build(RECORDED, "--no-probe")

    def _build(self, name: str, *options: str) -> None:
        """Rebuild, and commit and tag the lineage."""
        self.vignette("repro", *options)
        who = ["-c", "user.name=vignette", "-c", "user.email=vignette@localhost"]
        for command in (["add", "--all"], [*who, "commit", "--quiet", "--message", name], ["tag", name]):
            git_text(*command, folder=self.folder)


def _changed(params: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """``params`` with ``changes`` at every depth."""
    inner = {
        name: _changed(params[name], value)
        for name, value in changes.items()
        if isinstance(value, dict) and isinstance(params.get(name), dict)
    }
    return params | changes | inner


def _require_own(folder: Path) -> None:
    """Nothing that a person keeps is deleted: the folder must be empty, or a clone made here and not changed since.

    Of one that is not complete, it is not known what the build left; it may hold what a build writes, and no more.
    """
    if folder.is_dir() and not any(folder.iterdir()):
        return
    mark = git("config", "--get", _MARK, folder=folder) if (folder / ".git").is_dir() else None
    if mark is None:
        raise VignetteError(f"{folder} exists and is no earlier clone made by this command; move it away")
    if mark.decode().strip() == _BUILDING:
        stages = read_pipeline(folder / MAIN).values() if (folder / MAIN).is_file() else ()
        outs = {path for stage in stages for path in declared_outputs(stage)}
        built = (*_BUILT_IN, *(f"{out}/" for out in outs))
        others = [name for name in _changes(folder) if name not in {*_BUILT, *outs} and not name.startswith(built)]
        if others:
            raise VignetteError(f"{folder} holds {others[0]}, which no build wrote; move it away")
    elif mark.decode().strip() != _state(folder):
        raise VignetteError(f"{folder} was changed since it was made; remove it or move it away")


def _changes(folder: Path) -> list[str]:
    """Files in which a clone differs from its commit, also ignored ones, but for those that every command writes."""
    options = ("--porcelain", "-z", "--no-renames", "--untracked-files=all", "--ignored=matching")
    listed = git("status", *options, folder=folder)
    if listed is None:
        raise VignetteError(f"{folder}: git cannot tell what changed there; remove it or move it away")
    found = []
    for name in (line[3:] for line in listed.decode(errors="surrogateescape").split("\0") if line):
        inner = (folder / name).rglob("*") if name.endswith("/") else [folder / name]
        found += [path.relative_to(folder).as_posix() for path in inner if not path.is_dir() or path.is_symlink()]
    return sorted(name for name in found if not (name.startswith(_STATE) or "__pycache__" in name.split("/")))


def _state(folder: Path) -> str:
    """Hash of a clone's references, of the changes in its working tree, and of the files that git ignores."""
    said = [git_text("for-each-ref", folder=folder), git_text("diff", "--no-ext-diff", "HEAD", folder=folder)]
    for name in _changes(folder):
        found = (folder / name).lstat() if os.path.lexists(folder / name) else None
        said.append(f"{name} {found and (found.st_size, found.st_mtime_ns)}")
    return hashlib.sha256("\n".join(said).encode(errors="surrogateescape")).hexdigest()
