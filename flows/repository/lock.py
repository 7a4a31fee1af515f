"""Reads dvc.lock, keeps a copy of it after each stage, and puts the copy back after a run that was killed.

DVC rewrites the file in place. What a kill leaves of it may be valid YAML, in which the lost stages look never run. A
content that git knows, as after `git checkout` or `dvc exp apply`, is whole. Each working tree has its own copies.
"""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import yaml

from flows.repository.git import git
from flows.repository.workspace import workspace, write_text
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


def restore_lock(lock: Path) -> None:
    """Put the copy in place of a lock that a killed run was writing, and say so. No other process may write to it.

    A stage that ended at that moment is run again.
    """
    copy, mark = _copy(lock), _mark(lock)
    if mark.exists() and lock.exists() and copy.exists() and lock.read_bytes() != copy.read_bytes():
        folder = lock.absolute().parent
        name = (git("hash-object", lock.name, folder=folder) or b"").decode().strip()
        if not name or git("cat-file", "-e", name, folder=folder) is None:  # git does not know the content
            write_text(lock, copy.read_text(encoding="utf-8"))
            print(f"{lock}: may have been cut short when a run was killed, and is restored as it was before")
    mark.unlink(missing_ok=True)
    keep_lock(lock)


def keep_lock(lock: Path) -> None:
    """Copy a lock, unless it is no lock or the disk is full. No other process may write to it."""
    with suppress(VignetteError):  # what the disk lacks for a result is said where the result is written
        if read_lock(lock):
            write_text(_copy(lock), lock.read_text(encoding="utf-8"))


@contextmanager
def lock_in_use(lock: Path) -> Iterator[None]:
    """Mark a lock as one that a run may leave cut short, until the run comes to its end."""
    mark = _mark(lock)
    mark.parent.mkdir(exist_ok=True)
    mark.touch()
    yield
    mark.unlink(missing_ok=True)  # left behind by an error or a kill, at which DVC may be writing


def _copy(lock: Path) -> Path:
    name = hashlib.sha256(str(lock.resolve()).encode()).hexdigest()[:16]
    return workspace() / "locks" / f"{name}.lock"


def _mark(lock: Path) -> Path:
    return _copy(lock).with_suffix(".running")
