"""Keeps the last good state of what git and DVC track, so that a failed rebuild can be taken back."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

from flows.engine.lineage import FINGERPRINTS, identities
from flows.engine.pipeline import read_pipeline
from flows.engine.workspace import root, workspace
from schemas.errors import VignetteError
from tasks.tracking.lineage import Lineage, read_lineage

MAIN = Path("dvc.yaml")
LOCK = Path("dvc.lock")


class LastGood:
    """A copy of dvc.lock, fingerprints/ and the git-tracked tables as they were when `keep` was called."""

    def __init__(self) -> None:
        self._folder = workspace() / "last-good"
        self._pending = workspace() / "rebuild-pending.json"

    def keep(self) -> None:
        """Copy the present state, in place of what was kept before; raises VignetteError when nothing was built yet."""
        if not (root() / LOCK).exists():
            raise VignetteError("dvc.lock: no such file, so there is nothing to keep up to date; run make repro first")
        shutil.rmtree(self._folder, ignore_errors=True)
        for path in _tracked():
            target = self._folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(root() / path, target)

    def lineage(self) -> Lineage:
        """The lineage that is kept."""
        return read_lineage(yaml.safe_load((self._folder / LOCK).read_text(encoding="utf-8")))

    def identities(self) -> dict[str, dict[str, Any]]:
        """The content of each role's fingerprint file that is kept."""
        return identities(self._folder / FINGERPRINTS)

    def begin(self, roles: tuple[str, ...]) -> None:
        """Note that a rebuild begins: one that is killed is gone on with, though fingerprints/ is new already."""
        self._pending.write_text(json.dumps(roles), encoding="utf-8")

    def unfinished(self) -> tuple[str, ...]:
        """The roles of a rebuild that began and neither ended nor was taken back."""
        return tuple(json.loads(self._pending.read_text(encoding="utf-8"))) if self._pending.exists() else ()

    def end(self) -> None:
        """Note that the rebuild ended."""
        self._pending.unlink(missing_ok=True)

    def restore_fingerprints(self) -> None:
        """Bring back fingerprints/ alone: nothing was rebuilt yet."""
        for path in _kept(self._folder / FINGERPRINTS):
            shutil.copyfile(self._folder / FINGERPRINTS / path, root() / FINGERPRINTS / path)

    def restore(self) -> None:
        """Bring the kept state back, and have DVC check out the outputs that its lock names."""
        for path in _kept(self._folder):
            shutil.copyfile(self._folder / path, root() / path)
        command = [sys.executable, "-m", "dvc", "checkout", "--quiet", "--force"]
        subprocess.run(command, cwd=root(), check=False)
        self.end()


def _kept(folder: Path) -> list[Path]:
    return [path.relative_to(folder) for path in folder.rglob("*") if path.is_file()]


def _tracked() -> list[Path]:
    outs = [
        next(iter(entry))
        for stage in read_pipeline(root() / MAIN).values()
        for kind in ("outs", "metrics", "plots")
        for entry in stage.get(kind, [])
        if isinstance(entry, dict) and next(iter(entry.values())).get("cache") is False
    ]
    paths = [LOCK, *(path.relative_to(root()) for path in (root() / FINGERPRINTS).glob("*.json"))]
    return [path for path in [*paths, *map(Path, outs)] if (root() / path).is_file()]
