"""Puts a stage's last good outputs back when it fails.

DVC deletes a stage's outputs before it runs the stage; what dvc.lock names of them still lies in DVC's cache, and what
git tracks lies in its last commit.
"""

import shutil
import subprocess
from pathlib import Path
from typing import Any

import yaml

from flows.engine.pipeline import stage_files
from flows.engine.workspace import root
from schemas.errors import VignetteError


def restore_outputs(pipeline: Path, name: str) -> list[Path]:
    """Bring back each declared output of the stage that is missing now; returns what was restored."""
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
    md5 = locked.get(str(path), "")
    cached = root() / ".dvc" / "cache" / "files" / "md5" / md5[:2] / md5[2:]
    if not md5 or not cached.is_file():  # a folder's hash ends in .dir: dvc checkout brings folders back
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(cached, path)
    return True


def _from_git(path: Path) -> bool:
    found = subprocess.run(["git", "checkout", "--quiet", "HEAD", "--", str(path)], capture_output=True, check=False)
    return found.returncode == 0
