"""Small trees of files and git repositories."""

import hashlib
import subprocess
from collections.abc import Mapping
from pathlib import Path


def write_files(folder: Path, files: Mapping[str, str | bytes]) -> None:
    """Write ``files``, by their paths in ``folder``."""
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())


def git(folder: Path, *arguments: str) -> str:
    """Run git as somebody, and return what it prints."""
    command = ["git", "-c", "user.name=test", "-c", "user.email=test@localhost", *arguments]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout.rstrip("\n")


def commit(folder: Path, message: str = "one", *paths: str) -> None:
    """Commit ``paths``, or everything."""
    git(folder, "add", *(paths or ["-A"]))
    git(folder, "commit", "-qm", message)


def keep(store: Path, content: bytes) -> str:
    """Put a file into a folder in the layout of DVC's cache and remotes; returns its hash."""
    md5 = hashlib.md5(content).hexdigest()
    write_files(store / "files" / "md5", {f"{md5[:2]}/{md5[2:]}": content})
    return md5
