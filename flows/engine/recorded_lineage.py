"""The lineage of a strong model whose replies ship with the project, in a clone made for it."""

import shutil
import subprocess
import sys
from pathlib import Path

import yaml

from flows.engine.workspace import root
from schemas.errors import VignetteError

CASSETTE = Path("tests/cassettes")
"""Params, fingerprints and replies of the recorded lineage."""
REPLIES = CASSETTE / "strong_model.jsonl.gz"
RULES, RECORDED = "rules", "strong-model"
"""Git tags of the simulator's and the recorded lineage."""


class RecordedClone:
    """A clone of the last commit in ``folder``, in place of an earlier one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        if folder.exists():
            shutil.rmtree(folder)
        _run(["git", "clone", "--quiet", str(root()), str(folder)], root())

    def build_rules(self) -> None:
        """Build the lineage with the simulator in all roles, on the records of the recorded one."""
        shipped = yaml.safe_load((self.folder / "params.yaml").read_text(encoding="utf-8"))
        params = yaml.safe_load((self.folder / CASSETTE / "params.yaml").read_text(encoding="utf-8"))
        self._set_params(yaml.safe_dump(params | {"roles": shipped["roles"]}, sort_keys=False))
        self._build(RULES)

    def build_recorded(self) -> None:
        """Build the recorded lineage; only calls without a recorded reply reach the endpoint in its params."""
        for fingerprint in sorted((self.folder / CASSETTE / "fingerprints").glob("*.json")):
            shutil.copy(fingerprint, self.folder / "fingerprints")
        self._set_params((self.folder / CASSETTE / "params.yaml").read_text(encoding="utf-8"))
        self.vignette("store", "import", str(REPLIES))
        self._build(RECORDED, "--no-probe")

    def vignette(self, *arguments: str) -> None:
        """Run a ``vignette`` command in the clone. Raises VignetteError if it fails."""
        _run([sys.executable, "-m", "flows.commands.cli", *arguments], self.folder)

    def _set_params(self, text: str) -> None:
        (self.folder / "params.yaml").write_text(text, encoding="utf-8")

    def _build(self, name: str, *options: str) -> None:
        """Rebuild, and commit and tag the lineage."""
        self.vignette("repro", *options)
        who = ["-c", "user.name=vignette", "-c", "user.email=vignette@localhost"]
        _run(["git", "add", "--all"], self.folder)
        _run(["git", *who, "commit", "--quiet", "--message", name], self.folder)
        _run(["git", "tag", name], self.folder)


def _run(command: list[str], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, check=False)
    if done.returncode != 0:
        raise VignetteError(f"{' '.join(command)}, in {folder}, ended with status {done.returncode}; see its output")
