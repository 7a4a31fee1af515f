"""Reads dvc.lock, keeps a copy of it, and restores a lock that a killed DVC left cut short.

DVC rewrites the file in place. What a kill leaves of it may be valid YAML, in which the lost stages look never run.
A lock counts as cut if it is, but for values, the beginning of its copy and ends within a stage; one that ends between
two counts only after a run that did not come to its end, as a person may have removed the last entries. A
content that git knows, as after `git checkout` or `dvc exp apply`, is whole. Each working tree has its own copies.
"""

import hashlib
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import yaml

from flows.repository.git import git
from flows.repository.workspace import replace_text, workspace
from schemas.errors import VignetteError

_ENTRY, _ENDS_ENTRY = re.compile(r"^  \S", re.MULTILINE), re.compile(r"\s+(size|nfiles): ")
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # libyaml takes a tenth of the time


def read_lock(lock: Path) -> dict[str, Any]:
    """The content of a dvc.lock, or of its copy where it is cut short; empty if there is none. See `parse_lock`."""
    if not lock.exists():
        return {}
    text = lock.read_text(encoding="utf-8", errors="replace")
    return parse_lock(_whole(lock, text) or text, str(lock))


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
    """Put the copy in place of a lock that is cut short, and say so. No other process may write to it."""
    if not lock.exists():
        return
    text = lock.read_text(encoding="utf-8", errors="replace")
    whole = _whole(lock, text)
    _mark(lock).unlink(missing_ok=True)
    if whole is None:
        keep_lock(lock)
    else:
        replace_text(lock, whole)
        print(f"{lock}: was cut short when a run was killed, and is restored as it was before")


def keep_lock(lock: Path) -> None:
    """Copy a lock, unless it is cut short or the disk is full. No other process may write to it."""
    text = lock.read_text(encoding="utf-8", errors="replace") if lock.exists() else ""
    if text and _whole(lock, text) is None:
        with suppress(OSError):  # what the disk lacks for a result is said where the result is written
            replace_text(_copy(lock), text)


@contextmanager
def lock_in_use(lock: Path) -> Iterator[None]:
    """Mark a lock as one that a run may leave cut short, until the run comes to its end."""
    mark = _mark(lock)
    mark.parent.mkdir(exist_ok=True)
    mark.touch()
    yield
    mark.unlink(missing_ok=True)  # left behind by an error or a kill, at which DVC may be writing


def _whole(lock: Path, text: str) -> str | None:
    """What a lock with that text held before it was cut short: the content of its copy, or of git; None if it is whole.

    The last commit takes the place of a copy where none was kept yet.
    """
    copy = _copy(lock)
    kept = [copy.read_text(encoding="utf-8")] if copy.exists() else []
    if text in kept:
        return None
    committed = git("show", f"HEAD:./{lock.name}", folder=lock.absolute().parent)
    kept += [committed.decode()] if committed else []
    was_killed = _mark(lock).exists()
    found = next((whole for whole in kept if _is_cut(text, whole, was_killed=was_killed)), None)
    return None if found is None or _is_known(lock) else found


def _is_known(lock: Path) -> bool:
    """Whether git has a file with the content of the lock."""
    folder = lock.absolute().parent
    name = (git("hash-object", lock.name, folder=folder) or b"").decode().strip()
    return bool(name) and git("cat-file", "-e", name, folder=folder) is not None


def _is_cut(text: str, whole: str, *, was_killed: bool) -> bool:
    """Whether ``text`` is the beginning of ``whole``, or of what a run was to put in its place: with other values."""
    found, expected = (re.sub(r": .*", ":", content) for content in (text, whole))
    if not text.endswith("\n"):
        return text != whole.rstrip("\n") and (expected.startswith(found) or found.startswith(expected))
    if found.startswith(expected):  # the run has added a stage
        return was_killed and not _ENDS_ENTRY.match(text.splitlines()[-1])
    ends_between_two = _ENTRY.search(found) and _ENTRY.match(expected, len(found))
    return expected.startswith(found) and (was_killed or not ends_between_two)


def _copy(lock: Path) -> Path:
    name = hashlib.sha256(str(lock.resolve()).encode()).hexdigest()[:16]
    return workspace() / "locks" / f"{name}.lock"


def _mark(lock: Path) -> Path:
    return _copy(lock).with_suffix(".running")
