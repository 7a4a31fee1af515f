"""Keeps a copy of the last good state of what git and DVC track, to restore after a failed rebuild."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from flows.engine.lineage import current_lineage, identities
from flows.engine.pipeline import MAIN, declared_outputs, read_pipeline
from flows.engine.workspace import FINGERPRINTS, root, workspace
from schemas.errors import VignetteError
from tasks.tracking.lineage import Lineage

LOCK = Path("dvc.lock")


class LastGood:
    """A copy of dvc.lock, fingerprints/ and the git-tracked tables as of the last call of `keep`."""

    def __init__(self) -> None:
        self._folder = workspace() / "last-good"
        self._pending = workspace() / "rebuild-pending.json"

    def keep(self) -> None:
        """Copy the current state in place of the kept one; raises VignetteError when nothing was built yet."""
        if not (root() / LOCK).exists():
            raise VignetteError("dvc.lock: no such file, nothing was built yet; run make repro first")
        shutil.rmtree(self._folder, ignore_errors=True)
        for path in _tracked():
            target = self._folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(root() / path, target)

    def lineage(self) -> Lineage:
        """The lineage of the kept state."""
        return current_lineage(self._folder)

    def identities(self) -> dict[str, dict[str, Any]]:
        """The content of each role's fingerprint file in the kept state."""
        return identities(self._folder / FINGERPRINTS)

    def begin(self, roles: tuple[str, ...]) -> None:
        """Record that a rebuild for ``roles`` begins; after a kill, the next round resumes it."""
        self._pending.write_text(json.dumps(roles), encoding="utf-8")

    def unfinished(self) -> tuple[str, ...]:
        """The roles of a rebuild that began and was neither ended nor restored."""
        return tuple(json.loads(self._pending.read_text(encoding="utf-8"))) if self._pending.exists() else ()

    def end(self) -> None:
        """Record that the rebuild ended."""
        self._pending.unlink(missing_ok=True)

    def restore_fingerprints(self) -> None:
        """Restore fingerprints/ only, as nothing was rebuilt yet."""
        for path in _kept(self._folder / FINGERPRINTS):
            shutil.copyfile(self._folder / FINGERPRINTS / path, root() / FINGERPRINTS / path)

    def restore(self) -> None:
        """Restore the kept state and have DVC check out the outputs that its lock names."""
        for path in _kept(self._folder):
            shutil.copyfile(self._folder / path, root() / path)
        command = [sys.executable, "-m", "dvc", "checkout", "--quiet", "--force"]
        subprocess.run(command, cwd=root(), check=False)
        self.end()


def _kept(folder: Path) -> list[Path]:
    return [path.relative_to(folder) for path in folder.rglob("*") if path.is_file()]


def _tracked() -> list[Path]:
    paths = [LOCK, *(path.relative_to(root()) for path in (root() / FINGERPRINTS).glob("*.json"))]
    for stage in read_pipeline(root() / MAIN).values():
        paths += [Path(path) for path, options in declared_outputs(stage).items() if options.get("cache") is False]
    return [path for path in paths if (root() / path).is_file()]
