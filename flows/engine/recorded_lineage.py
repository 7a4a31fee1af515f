"""The lineage of a strong model whose replies ship with the project, in a clone made for it."""

import gzip
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

from flows.engine.watch_tree import git
from flows.engine.workspace import root
from schemas.errors import VignetteError

CASSETTE = Path("tests/cassettes")
"""Params, fingerprints and replies of the recorded lineage."""
REPLIES = CASSETTE / "strong_model.jsonl.gz"
COMPARED = CASSETTE / "judges_compared.csv"
"""The rules against the recorded model, on the same requests."""
RULES, RECORDED = "rules", "strong-model"
"""Git tags of the simulator's and the recorded lineage."""
_MARK = "vignette.recorded-lineage"
"""Git setting of the clones made here."""


def read_replies(file: Path) -> list[dict[str, Any]]:
    """Requests and replies, as `vignette store export` writes them into a compressed file."""
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


class RecordedClone:
    """A clone of the last commit in ``folder``, in place of an earlier one.

    Raises VignetteError if the folder holds anything but an earlier clone made here.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        if folder.exists():
            _require_own(folder)
            shutil.rmtree(folder)
        git(root(), "clone", "--quiet", str(root()), str(folder))
        git(folder, "config", _MARK, "true")

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
        self.vignette("judges", "--rules", "--out", str(COMPARED))

    def vignette(self, *arguments: str) -> None:
        """Run a ``vignette`` command in the clone. Raises VignetteError if it fails."""
        done = subprocess.run([sys.executable, "-m", "flows.commands.cli", *arguments], cwd=self.folder, check=False)
        if done.returncode != 0:
            raise VignetteError(
                f"vignette {' '.join(arguments)}, in {self.folder}, ended with status {done.returncode}; see its output"
            )

    def _set_params(self, text: str) -> None:
        (self.folder / "params.yaml").write_text(text, encoding="utf-8")

    def _build(self, name: str, *options: str) -> None:
        """Rebuild, and commit and tag the lineage."""
        self.vignette("repro", *options)
        who = ["-c", "user.name=vignette", "-c", "user.email=vignette@localhost"]
        git(self.folder, "add", "--all")
        git(self.folder, *who, "commit", "--quiet", "--message", name)
        git(self.folder, "tag", name)


def _require_own(folder: Path) -> None:
    """Nothing that a person keeps is deleted: the folder must carry the mark of a clone made here, or be empty."""
    if folder.is_dir() and not any(folder.iterdir()):
        return
    marked = (folder / ".git").is_dir() and git(folder, "config", "--default", "false", "--get", _MARK) == "true"
    if not marked:
        raise VignetteError(f"{folder} exists and is no earlier clone of the recorded lineage; name another --folder")
