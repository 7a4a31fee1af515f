"""Reads dvc.lock."""

from pathlib import Path
from typing import Any

import yaml

from schemas.errors import VignetteError

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # libyaml takes a tenth of the time


def read_lock(lock: Path) -> dict[str, Any]:
    """The content of a dvc.lock; empty if there is none. See `parse_lock`."""
    return parse_lock(lock.read_bytes(), str(lock)) if lock.exists() else {}


def parse_lock(content: str | bytes, name: str) -> dict[str, Any]:
    """Parse the content of the dvc.lock ``name``. Raises VignetteError for what is none."""
    try:
        found = yaml.load(content, Loader=_LOADER) or {}
    except yaml.YAMLError as error:
        raise VignetteError(f"{name}: not valid YAML: {' '.join(str(error).split())}; restore it from git") from error
    stages = found.get("stages") if isinstance(found, dict) else found
    if found and not (isinstance(stages, dict) and all(isinstance(entry, dict) for entry in stages.values())):
        raise VignetteError(f"{name}: holds no stages, though dvc.lock is a mapping of them; restore it from git")
    return dict(found)
