"""Puts a stage's last good outputs back when it fails.

DVC deletes a stage's outputs before it runs the stage; what dvc.lock names of them still lies in DVC's cache.
"""

import shutil
from pathlib import Path
from typing import Any

import yaml

from flows.workspace import root


def restore_outputs(pipeline: Path, name: str) -> list[Path]:
    """Copy back each cached output of the stage's last success that is missing now; returns what was restored."""
    lock_file = pipeline.with_suffix(".lock")
    if not lock_file.exists():
        return []
    lock: dict[str, Any] = yaml.safe_load(lock_file.read_text(encoding="utf-8")) or {}
    outs = lock.get("stages", {}).get(name, {}).get("outs", [])
    restored = []
    for out in outs:
        path, cached = Path(out["path"]), _cache_file(str(out.get("md5", "")))
        if not path.exists() and cached is not None and cached.is_file():
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(cached, path)
            restored.append(path)
    return restored


def _cache_file(md5: str) -> Path | None:
    if not md5 or md5.endswith(".dir"):
        return None
    return root() / ".dvc" / "cache" / "files" / "md5" / md5[:2] / md5[2:]
