"""Git, run by its command line: the only module that does."""

import re
import shlex
import subprocess
from pathlib import Path

from flows.repository.workspace import root
from schemas.errors import VignetteError


def git(*arguments: str, folder: Path | None = None) -> bytes | None:
    """Output of a git command in ``folder`` (default: the root of the repository); None when it fails."""
    done = subprocess.run(["git", *arguments], cwd=folder or root(), capture_output=True, check=False)
    return done.stdout if done.returncode == 0 else None


def git_text(*arguments: str, folder: Path | None = None) -> str:
    """Output of a git command that is expected to work, stripped. Raises VignetteError with git's message."""
    done = subprocess.run(["git", *arguments], cwd=folder or root(), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        words = [word for word in arguments if not word.startswith("-")]
        said = " ".join(done.stderr.split())
        if lock := re.search(r"'([^']+\.lock)': File exists", said):
            said = f"{lock[1]} exists; if no git runs in this clone, a killed one left it: rm {shlex.quote(lock[1])}"
        raise VignetteError(f"git {' '.join(words[:3])} in {folder or root()}: {said}")
    return done.stdout.strip()


def head_revision(folder: Path | None = None) -> str:
    """The commit that a working tree (default: the working directory's) has checked out; empty if there is none."""
    return (git("rev-parse", "HEAD", folder=folder or Path()) or b"").decode().strip()


def changed_files(*paths: str, folder: Path | None = None) -> bool:
    """Whether tracked files (of ``paths``) differ from the commit that is checked out."""
    return bool(git("status", "--porcelain", "--untracked-files=no", "--", *paths, folder=folder))


def uncommitted() -> list[str]:
    """Files in which a working tree differs from the commit that is checked out, with those that git does not track."""
    listed = git("status", "--porcelain", "-z", "--no-renames", "--untracked-files=all") or b""
    return [line[3:] for line in listed.decode(errors="replace").split("\0") if line]


def show(revision: str, path: Path | str) -> bytes | None:
    """The content of a file in a commit; None where the commit does not have it."""
    return git("show", f"{revision}:{path}")


def references(*patterns: str) -> dict[str, str]:
    """Commit of each reference that matches, by its full name."""
    listed = git("for-each-ref", "--format=%(refname) %(objectname)", *patterns) or b""
    return dict(line.split() for line in listed.decode().splitlines())
