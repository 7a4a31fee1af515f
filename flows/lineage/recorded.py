"""Clones made for the lineages of a strong model whose replies ship with the project."""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

from flows.repository.git import git, git_text, head_revision, without_git
from flows.repository.params import STARTED_BY
from flows.repository.workspace import FOLDER, root
from schemas.errors import VignetteError

CASSETTES = Path("tests/cassettes")
"""A folder for each recorded lineage by its domain, and the fingerprints of the model that all have in common."""
PARAMS, REPLIES = "params.yaml", "replies.jsonl.gz"
"""What a lineage sets otherwise than the shipped params, and its replies, in its folder."""
RULES, RECORDED = "rules", "strong-model"
"""Git tags of the simulator's and the recorded lineage."""
_MARK = "vignette.made-for"
"""Git setting of the clones made here: the lineage that they are made for, and the commit."""


def cassettes() -> list[Path]:
    """Folders, relative to a clone, of the recorded lineages that ship with the project, in order of their names."""
    return [CASSETTES / file.parent.name for file in sorted((root() / CASSETTES).glob(f"*/{PARAMS}"))]


def cassette(name: str) -> Path:
    """The folder of the recorded lineage of a name. Raises VignetteError if there is none."""
    known = {found.name: found for found in cassettes()}
    if name not in known:
        raise VignetteError(f"no lineage {name!r} is recorded; there are: {', '.join(known)}")
    return known[name]


def recorded_params(folder: Path, recorded: Path) -> dict[str, Any]:
    """The params of a recorded lineage in a clone: the shipped ones, and what the lineage sets otherwise."""
    files = folder / "params.yaml", folder / recorded / PARAMS
    shipped, changes = (yaml.safe_load(file.read_text(encoding="utf-8")) for file in files)
    return _changed(shipped, changes)


class RecordedClone:
    """A clone of the last commit in ``folder``, to build a recorded lineage and that of the rules in.

    One that an earlier call made for the same lineage and commit is built on; no folder is replaced. Raises
    VignetteError for any other folder that is not empty.
    """

    def __init__(self, folder: Path, recorded: Path) -> None:
        self.folder, self.recorded = folder, recorded
        made_for = f"{recorded.name}, {head_revision(root())}"
        if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
            git_text("clone", "--quiet", "--no-tags", str(root()), str(folder), folder=root())
            git_text("config", _MARK, made_for, folder=folder)
            (folder / FOLDER).mkdir(exist_ok=True)
            return
        mark = git("config", "--get", _MARK, folder=folder) if (folder / ".git").is_dir() else None
        if mark is None or mark.decode().strip() != made_for:
            raise VignetteError(
                f"{folder} exists and is no clone that this command made of the present commit for lineage "
                f"{recorded.name}; move it away or remove it"
            )

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
        """Build the lineage with the simulator in all roles, on the records of the recorded one, unless it is there."""
        if self._is_built(RULES):
            return
        shipped = yaml.safe_load((self.folder / "params.yaml").read_text(encoding="utf-8"))
        params = recorded_params(self.folder, self.recorded) | {"roles": shipped["roles"]}
        # The simulator does not know the prompts of the paper's protocol.
        params["note_qa"]["protocol"] = shipped["note_qa"]["protocol"]
        self.set_params(yaml.safe_dump(params, sort_keys=False))
        self._build(RULES, "--keep-server")  # for the recorded lineage, whose build stops it

    def build_recorded(self) -> None:
        """Build the recorded lineage, unless it is there.

        Only calls without a recorded reply reach the endpoint in its params.
        """
        if self._is_built(RECORDED):
            return
        for fingerprint in sorted((self.folder / CASSETTES / "fingerprints").glob("*.json")):
            shutil.copy(fingerprint, self.folder / "fingerprints")
        self.set_params(yaml.safe_dump(recorded_params(self.folder, self.recorded), sort_keys=False))
        if (self.folder / self.recorded / REPLIES).exists():  # not in a lineage that is recorded for the first time
            self.vignette("store", "import", str(self.recorded / REPLIES))
        self._build(RECORDED, "--no-probe")

    def _is_built(self, name: str) -> bool:
        return bool(git_text("tag", "--list", name, folder=self.folder))

    def _build(self, name: str, *options: str) -> None:
        """Rebuild, and commit and tag the lineage."""
        self.vignette("repro", *options)
        who = ["-c", "user.name=vignette", "-c", "user.email=vignette@localhost"]
        commit = [*who, "commit", "--allow-empty", "--quiet", "--message", name]  # empty after one that was not tagged
        for command in (["add", "--all"], commit, ["tag", name]):
            git_text(*command, folder=self.folder)


def _changed(params: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """``params`` with ``changes`` at every depth."""
    inner = {
        name: _changed(params[name], value)
        for name, value in changes.items()
        if isinstance(value, dict) and isinstance(params.get(name), dict)
    }
    return params | changes | inner
