"""The git worktree in which the watch rebuilds, and the branch on which it commits each lineage.

The tree holds the code and params of the watched branch with the fingerprints, dvc.lock and result tables of the last
lineage. Files that a person edits in the clone are never used. The tree shares the clone's cache and folder of state;
what a failed or killed round leaves in it is discarded by the next one.
"""

import configparser
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

from flows.repository.cache import push_artefacts
from flows.repository.git import git, git_text, without_git
from flows.repository.params import BUDGET, STARTED_BY
from flows.repository.pipeline import MAIN, declared_outputs, read_pipeline
from flows.repository.workspace import FINGERPRINTS, WORKSPACE, root, workspace, write_text
from schemas.errors import VignetteError
from schemas.params.llm import SIMULATOR
from schemas.params.runtime import Watch

_IDENTITY = ("-c", "user.name=vignette watch", "-c", "user.email=watch@localhost")
_LOCK = "dvc.lock"
LOCK_S = 5.0
"""How long a lock of git in the tree may be there before it counts as left by a kill."""


class WatchTree:
    """The worktree of the watch of this clone. All git commands raise VignetteError with git's message."""

    def __init__(self, params: Watch) -> None:
        self.branch = params.branch or "HEAD"
        self._reference = f"refs/heads/{params.lineages}"
        self._remote = params.git_remote
        self.folder = workspace() / "watch"
        self._queue = workspace() / "watch-unpushed.json"
        self._budget = params.budget_at(datetime.now(UTC))

    def reset(self) -> bool:
        """Discard what the last round left and merge the watched branch; True if that brings new commits.

        The merge takes every file from the branch except the results of the last lineage, and is committed in the tree
        only, until `keep` moves the branch of lineages.
        """
        if "/" in self.branch and self.branch.split("/")[0] in git_text("remote").split():
            git_text("fetch", "--quiet", self.branch.split("/")[0])
        watched = (git("rev-parse", "--verify", "--quiet", f"{self.branch}^{{commit}}") or b"").decode().strip()
        if not watched:
            raise VignetteError(
                f"watch.branch {self.branch} is no branch or commit of {root()}; make it again "
                f"(git branch {self.branch} COMMIT), or name another in params.yaml"
            )
        if f"branch {self._reference}" in git_text("worktree", "list", "--porcelain").splitlines():
            name = self._reference.removeprefix("refs/heads/")
            raise VignetteError(
                f"watch.lineages {name} is checked out in a working tree of yours (git worktree list), where each new "
                f"lineage would look like an edit that undoes it; check out another branch, or: git switch -d {name}"
            )
        self._make()
        tip = self.tip()
        self._git("checkout", "--quiet", "--force", "--detach", tip or watched)
        self._git("clean", "--quiet", "-fd")
        if tip is None or self._git("merge-base", watched, tip) == watched:
            return tip is None
        self._git("checkout", "--quiet", "--force", "--detach", watched)
        written = [_LOCK, str(FINGERPRINTS)]  # by a rebuild, and tracked by git
        for stage in read_pipeline(self.folder / MAIN).values():
            written += [path for path, options in declared_outputs(stage).items() if options.get("cache") is False]
        results = [path for path in written if self._git("ls-tree", tip, "--", path)]
        self._git("checkout", tip, "--", *results)
        tree, message = self._git("write-tree"), f"Merge {watched[:10]} of {self.branch}"
        merged = self._git(*_IDENTITY, "commit-tree", tree, "-p", tip, "-p", watched, "-m", message)
        self._git("checkout", "--quiet", "--force", "--detach", merged)
        return True

    def tip(self) -> str | None:
        """The last commit of the branch of lineages; None before the first round."""
        return git_text("for-each-ref", "--format=%(objectname)", self._reference) or None

    def head(self) -> str:
        """The commit that is checked out in the tree."""
        return self._git("rev-parse", "HEAD")

    def changed_roles(self) -> list[str]:
        """Roles whose fingerprint in the tree differs from the checked-out commit."""
        lines = self._git("status", "--porcelain", "--", str(FINGERPRINTS)).splitlines()
        files = [Path(line.split()[-1]) for line in lines]
        return sorted(file.stem for file in files if file.parent == FINGERPRINTS)

    def edited_roles(self) -> list[str]:
        """Roles whose model may be another by an edit since the last lineage: of their settings or, for the simulator,
        of code.
        """
        before, now = (_roles(self.folder, commit) for commit in (self.tip(), self.head()))
        simulated = {role for role, settings in now.items() if settings.get("base_url") == SIMULATOR}
        return sorted({role for role in {*before, *now} if before.get(role) != now.get(role)} | simulated)

    def run(self, *command: str) -> int:
        """Run ``python -m ...`` with the tree's code in it, within the watch's budget; returns the exit status."""
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
        environment = {**without_git(os.environ), WORKSPACE: str(workspace()), "PATH": path}
        environment[STARTED_BY] = "vignette watch once"
        environment[BUDGET] = self._budget.model_dump_json()
        return subprocess.run([sys.executable, "-m", *command], cwd=self.folder, env=environment).returncode

    def commit(self, message: str, tag: str) -> str:
        """Commit the tree's results, if they differ; tag the commit unless the tag exists, and return it."""
        self._git("-c", "core.excludesFile=/dev/null", "add", "--all")  # the user's may leave out a new table
        if self._git("status", "--porcelain"):
            self._git(*_IDENTITY, "commit", "--quiet", "-m", message)
        if not git_text("tag", "--list", tag):
            git_text("tag", tag, self.head())
        return self.head()

    def keep(self) -> None:
        """Move the branch of lineages to the tree's commit."""
        git_text("update-ref", self._reference, self.head())

    def push(self, tag: str) -> str | None:
        """Queue a lineage to be pushed, and push what is queued; the reason if something stays in the queue."""
        self._write_queue({**self.pending(), tag: f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC"})
        return self.push_pending()

    def push_pending(self) -> str | None:
        """Push each queued lineage: its artefacts with DVC, and branch and tag where a git remote is given.

        One leaves the queue when both have acknowledged it. Returns the reason why the first that stays could not be
        pushed.
        """
        problems = []
        for tag in self.pending():
            try:
                push_artefacts(self.folder, tag)
                if self._remote is not None:
                    git_text("push", "--quiet", self._remote, self._reference, f"refs/tags/{tag}")
            except VignetteError as error:
                problems.append(str(error))
            else:
                self._write_queue({other: since for other, since in self.pending().items() if other != tag})
        return next(iter(problems), None)

    def pending(self) -> dict[str, str]:
        """When each lineage that is still to be pushed was made, by its tag, oldest first."""
        try:
            return dict(json.loads(self._queue.read_text(encoding="utf-8")))
        except FileNotFoundError:
            return {}
        except ValueError as error:
            raise VignetteError(
                f"{self._queue}: not readable ({error}); delete it and push the lineages by hand: dvc push --all-tags, "
                "git push REMOTE 'refs/tags/lineage/*'"
            ) from error

    def _write_queue(self, queue: Mapping[str, str]) -> None:
        write_text(self._queue, json.dumps(queue, indent=1))

    def _make(self) -> None:
        """Make the tree if there is none, if git cannot use it any more, or if it came with a copy of another clone."""
        pointer, listed = self.folder / ".git", git_text("worktree", "list", "--porcelain").splitlines()
        is_ours = pointer.is_file() and f"worktree {self.folder.resolve()}" in listed
        if is_ours:
            lock = Path(pointer.read_text(encoding="utf-8").removeprefix("gitdir:").strip()) / "index.lock"
            _remove_stale(lock)
        status = git("-C", str(self.folder), "status", "--porcelain") if is_ours else None
        if status is None:
            if self.folder.exists():
                print(f"watch: {self.folder} is damaged, or of another clone, and made again", file=sys.stderr)
                shutil.rmtree(self.folder)
            git_text("worktree", "add", "--quiet", "--force", "--detach", str(self.folder), "HEAD")
        _share_cache(self.folder)

    def _git(self, *arguments: str) -> str:
        return git_text(*arguments, folder=self.folder)


def _remove_stale(lock: Path) -> None:
    """Remove a lock that a killed git left in the tree, which only one round uses; one that is just used goes away."""
    deadline = time.monotonic() + LOCK_S
    while lock.exists():
        if time.monotonic() > deadline:
            print(f"watch: removed {lock}, which a killed git left", file=sys.stderr)
            lock.unlink(missing_ok=True)
        time.sleep(0.1)


def _roles(folder: Path, commit: str | None) -> dict[str, Any]:
    if commit is None:
        return {}
    return dict(yaml.safe_load(git_text("show", f"{commit}:params.yaml", folder=folder)).get("roles", {}))


def _share_cache(folder: Path) -> None:
    """Point DVC in the tree at the clone's cache and remotes, whose relative addresses would not hold there."""
    from dvc.repo import Repo  # takes a second

    local = configparser.ConfigParser(interpolation=None)  # addresses may hold a percent sign
    local.read(root() / ".dvc" / "config.local")
    with Repo(str(root())) as repo:
        sections = {"cache": {"dir": repo.cache.local_cache_dir}}
        sections |= {f"'remote \"{name}\"'": {"url": found["url"]} for name, found in repo.config["remote"].items()}
    for name, values in sections.items():
        local.read_dict({name: {**(dict(local[name]) if local.has_section(name) else {}), **values}})
    with (folder / ".dvc" / "config.local").open("w", encoding="utf-8") as file:
        local.write(file)
