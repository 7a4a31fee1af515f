"""Reads earlier outputs from DVC's cache and from git's last commit.

DVC deletes a stage's outputs before it runs the stage. The outputs that dvc.lock names are still in DVC's cache, and
those that git tracks are in its last commit, so a failed stage can have its previous outputs restored.
"""

import shutil
import subprocess
from pathlib import Path
from typing import Any

import yaml

from flows.engine.pipeline import stage_files
from flows.engine.workspace import root
from schemas.errors import VignetteError


def cached_file(md5: str) -> Path | None:
    """The cached file with that hash; None when the cache lacks it. A folder's hash, which ends in .dir, is not one."""
    file = root() / ".dvc" / "cache" / "files" / "md5" / md5[:2] / md5[2:]
    return file if md5 and file.is_file() and file.suffix != ".dir" else None


def restore_outputs(pipeline: Path, name: str) -> list[Path]:
    """Restore each declared output of the stage that is missing; returns the restored ones."""
    try:
        declared = stage_files(pipeline, name).outs.values()
    except (OSError, VignetteError):
        return []
    locked = _locked(pipeline, name)
    return [path for path in declared if not path.exists() and (_from_cache(path, locked) or _from_git(path))]


def _locked(pipeline: Path, name: str) -> dict[str, str]:
    lock_file = pipeline.with_suffix(".lock")
    if not lock_file.exists():
        return {}
    lock: dict[str, Any] = yaml.safe_load(lock_file.read_text(encoding="utf-8")) or {}
    return {out["path"]: str(out.get("md5", "")) for out in lock.get("stages", {}).get(name, {}).get("outs", [])}


def _from_cache(path: Path, locked: dict[str, str]) -> bool:
    cached = cached_file(locked.get(str(path), ""))
    if cached is None:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(cached, path)
    return True


def _from_git(path: Path) -> bool:
    found = subprocess.run(["git", "checkout", "--quiet", "HEAD", "--", str(path)], capture_output=True, check=False)
    return found.returncode == 0
