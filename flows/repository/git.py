"""Git, run by its command line: the only module that does."""

import os
import re
import shlex
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from flows.repository.workspace import root
from schemas.errors import VignetteError

LIMIT_S = 600.0
"""Seconds after which a git command counts as hanging, for which a remote may be the reason."""
_SETTINGS = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "commit.gpgsign=false",
    "tag.gpgsign=false",
    "tag.forceSignAnnotated=false",
    "push.gpgSign=false",
    "log.showSignature=false",
)
"""The user's hooks and signing are for the user's own commits; they ask, write and fail."""
_NEVER_ASKS = {"GIT_TERMINAL_PROMPT": "0", "GIT_EDITOR": "true"}
_OF_REMOTES = {"GIT_SSH", "GIT_SSH_COMMAND", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH"}
"""Variables of git that only say how a remote is reached."""


def without_git(environment: Mapping[str, str]) -> dict[str, str]:
    """``environment`` without git's variables: within a hook, they name another repository and its index."""
    return {name: value for name, value in environment.items() if name in _OF_REMOTES or not name.startswith("GIT_")}


def _run(arguments: Sequence[str], folder: Path | None) -> tuple[int, bytes, str]:
    """Exit status, output and errors of a git command. Raises VignetteError for one that does not start or end."""
    settings = [part for setting in _SETTINGS for part in ("-c", setting)]
    if shutil.which("git") is None:
        raise VignetteError(f"{_named(arguments, folder)}: git is not installed, or its folder is not in PATH")
    started = subprocess.Popen(
        ["git", *settings, *arguments],
        cwd=folder or root(),
        env=without_git(os.environ) | _NEVER_ASKS,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        output, errors = started.communicate(timeout=LIMIT_S)
    except BaseException as error:
        os.killpg(started.pid, signal.SIGKILL)  # with ssh and the like, which would hold the output open
        started.communicate()
        if isinstance(error, subprocess.TimeoutExpired):
            raise VignetteError(f"{_named(arguments, folder)}: did not end within {LIMIT_S:.0f} s; try it") from None
        raise
    said = errors.decode(errors="replace")
    if "dubious ownership" in said:  # no answer about the repository, whatever was asked
        raise VignetteError(f"{_named(arguments, folder)}: {' '.join(said.split())}")
    return started.returncode, output, said


def _named(arguments: Sequence[str], folder: Path | None) -> str:
    words = [word for word in arguments if not word.startswith("-") and not re.match(r"\w+\.\w+=", word)]
    return f"git {' '.join(words[:3])} in {folder or root()}"


def git(*arguments: str, folder: Path | None = None) -> bytes | None:
    """Output of a git command in ``folder`` (default: the root of the repository); None when it fails."""
    status, output, _ = _run(arguments, folder)
    return output if status == 0 else None


def git_text(*arguments: str, folder: Path | None = None) -> str:
    """Output of a git command that is expected to work, stripped. Raises VignetteError with git's message."""
    status, output, errors = _run(arguments, folder)
    if status != 0:
        said = " ".join(errors.split())
        if lock := re.search(r"'([^']+\.lock)': File exists", said):
            said = f"{lock[1]} exists; if no git runs in this clone, a killed one left it: rm {shlex.quote(lock[1])}"
        raise VignetteError(f"{_named(arguments, folder)}: {said}")
    return output.decode(errors="surrogateescape").strip()


def require_repository() -> None:
    """Raise VignetteError in a tree that git does not know, as that of a downloaded archive."""
    if git("rev-parse", "--git-dir") is None:
        raise VignetteError(
            f"{root()}: no git repository, as of an archive that was downloaded, and DVC needs one: git clone instead, "
            "or git init, git add --all and git commit here"
        )


def head_revision(folder: Path | None = None) -> str:
    """The commit that a working tree (default: the working directory's) has checked out; empty if there is none."""
    return (git("rev-parse", "HEAD", folder=folder or Path()) or b"").decode().strip()


def changed_files(*paths: str, folder: Path | None = None) -> bool:
    """Whether tracked files (of ``paths``) differ from the commit that is checked out."""
    return bool(git("status", "--porcelain", "--untracked-files=no", "--", *paths, folder=folder))


def show(revision: str, path: Path | str) -> bytes | None:
    """The content of a file in a commit; None where the commit does not have it."""
    return git("show", f"{revision}:{path}")
