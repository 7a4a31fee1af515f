"""Keeps the last good state of what git and DVC track, so that a failed rebuild can be taken back."""

import shutil
import subprocess
import sys
from pathlib import Path

from flows.pipeline import read_pipeline
from flows.workspace import root, workspace

MAIN = Path("dvc.yaml")


class LastGood:
    """A copy of dvc.lock, fingerprints/ and the git-tracked tables as they are now."""

    def __init__(self) -> None:
        self._folder = workspace() / "last-good"

    def keep(self) -> None:
        """Copy the present state, in place of what was kept before."""
        shutil.rmtree(self._folder, ignore_errors=True)
        for path in _tracked():
            target = self._folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(root() / path, target)

    def restore(self) -> None:
        """Bring the kept state back, and have DVC check out the outputs that its lock names."""
        for path in [*_tracked(), *_kept(self._folder)]:
            kept = self._folder / path
            if kept.exists():
                shutil.copyfile(kept, root() / path)
        command = [sys.executable, "-m", "dvc", "checkout", "--quiet", "--force"]
        subprocess.run(command, cwd=root(), check=False)


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
    paths = [Path("dvc.lock"), *(path.relative_to(root()) for path in (root() / "fingerprints").glob("*.json"))]
    return [path for path in [*paths, *map(Path, outs)] if (root() / path).is_file()]
