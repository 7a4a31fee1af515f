"""The git worktree in which the watch rebuilds, and the branch on which it commits each lineage.

The tree holds the code and params of the watched branch with the fingerprints, dvc.lock and result tables of the last
lineage. Files that a person edits in the clone are never used. The tree shares the clone's cache and folder of state;
what a failed or killed round leaves in it is discarded by the next one.
"""

import configparser
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from flows.rebuild.pipeline import MAIN, declared_outputs, read_pipeline
from flows.runtime.workspace import FINGERPRINTS, WORKSPACE, root, workspace
from schemas.errors import VignetteError
from schemas.params.llm import SIMULATOR
from schemas.params.runtime import Watch

_IDENTITY = ("-c", "user.name=vignette watch", "-c", "user.email=watch@localhost")
_LOCK = "dvc.lock"


class WatchTree:
    """The worktree of the watch of this clone. All git commands raise VignetteError with git's message."""

    def __init__(self, params: Watch) -> None:
        self.branch = params.branch or "HEAD"
        self._reference = f"refs/heads/{params.lineages}"
        self._remote = params.git_remote
        self.folder = workspace() / "watch"
        self._unpushed = workspace() / "watch-unpushed"

    def reset(self) -> bool:
        """Discard what the last round left and merge the watched branch; True if that brings new commits.

        The merge takes every file from the branch except the results of the last lineage, and is committed in the tree
        only, until `keep` moves the branch of lineages.
        """
        if "/" in self.branch and self.branch.split("/")[0] in git(root(), "remote").split():
            git(root(), "fetch", "--quiet", self.branch.split("/")[0])
        watched = git(root(), "rev-parse", "--verify", f"{self.branch}^{{commit}}")
        self._make()
        tip = self.tip()
        git(self.folder, "checkout", "--quiet", "--force", "--detach", tip or watched)
        git(self.folder, "clean", "--quiet", "-fd")
        if tip is None or git(self.folder, "merge-base", watched, tip) == watched:
            return tip is None
        git(self.folder, "checkout", "--quiet", "--force", "--detach", watched)
        results = [path for path in self._results() if git(self.folder, "ls-tree", tip, "--", path)]
        git(self.folder, "checkout", tip, "--", *results)
        tree, message = git(self.folder, "write-tree"), f"Merge {watched[:10]} of {self.branch}"
        merged = git(self.folder, *_IDENTITY, "commit-tree", tree, "-p", tip, "-p", watched, "-m", message)
        git(self.folder, "checkout", "--quiet", "--force", "--detach", merged)
        return True

    def tip(self) -> str | None:
        """The last commit of the branch of lineages; None before the first round."""
        return git(root(), "for-each-ref", "--format=%(objectname)", self._reference) or None

    def head(self) -> str:
        """The commit that is checked out in the tree."""
        return git(self.folder, "rev-parse", "HEAD")

    def changed_roles(self) -> list[str]:
        """Roles whose fingerprint in the tree differs from the checked-out commit."""
        lines = git(self.folder, "status", "--porcelain", "--", str(FINGERPRINTS)).splitlines()
        return sorted(Path(line.split()[-1]).stem for line in lines)

    def edited_roles(self) -> list[str]:
        """Roles whose settings differ between the last lineage and the checked-out commit."""
        before, now = (_roles(self.folder, commit) for commit in (self.tip(), self.head()))
        return sorted(role for role in {*before, *now} if before.get(role) != now.get(role))

    def simulated_roles(self) -> list[str]:
        """Roles that the simulator serves; the code of the checked-out commit is their model."""
        roles = _roles(self.folder, self.head())
        return sorted(role for role, settings in roles.items() if settings.get("base_url") == SIMULATOR)

    def run(self, *command: str) -> int:
        """Run ``python -m ...`` with the tree's code in the tree; returns the exit status."""
        return subprocess.run([sys.executable, "-m", *command], cwd=self.folder, env=self._environment()).returncode

    def commit(self, message: str, tag: str) -> str:
        """Commit the tree's results, if they differ; tag the commit unless the tag exists, and return it."""
        git(self.folder, "add", "--all")
        if git(self.folder, "status", "--porcelain"):
            git(self.folder, *_IDENTITY, "commit", "--quiet", "-m", message)
        if not git(root(), "tag", "--list", tag):
            git(root(), "tag", tag, self.head())
        return self.head()

    def keep(self) -> None:
        """Move the branch of lineages to the tree's commit."""
        git(root(), "update-ref", self._reference, self.head())

    def push(self, tag: str) -> str | None:
        """Push the artefacts with DVC, and branch and tag where a git remote is given; the reason if that fails.

        A tag that was not pushed is noted, so that the next round tries again.
        """
        problem = self._push(tag)
        if problem is None:
            self._unpushed.unlink(missing_ok=True)
        else:
            self._unpushed.write_text(tag, encoding="utf-8")
        return problem

    def unpushed(self) -> str | None:
        """The tag of the last lineage if it is still to be pushed."""
        return self._unpushed.read_text(encoding="utf-8") if self._unpushed.exists() else None

    def _push(self, tag: str) -> str | None:
        if self.run("dvc", "push", "--quiet") != 0:
            return "dvc push failed"
        try:
            if self._remote is not None:
                git(root(), "push", "--quiet", self._remote, self._reference, f"refs/tags/{tag}")
        except VignetteError as error:
            return str(error)
        return None

    def _make(self) -> None:
        if not (self.folder / ".git").exists():
            git(root(), "worktree", "prune")
            git(root(), "worktree", "add", "--quiet", "--force", "--detach", str(self.folder), "HEAD")
        _share_cache(self.folder)

    def _results(self) -> list[str]:
        """Paths of what a rebuild writes and git tracks."""
        paths = [_LOCK, str(FINGERPRINTS)]
        for stage in read_pipeline(self.folder / MAIN).values():
            paths += [path for path, options in declared_outputs(stage).items() if options.get("cache") is False]
        return paths

    def _environment(self) -> dict[str, str]:
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
        return {**os.environ, WORKSPACE: str(workspace()), "PATH": path}


def git(folder: Path, *arguments: str) -> str:
    """Output of a git command. Raises VignetteError."""
    done = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        words: Sequence[str] = [word for word in arguments if not word.startswith("-")]
        raise VignetteError(f"git {' '.join(words[:3])} in {folder}: {' '.join(done.stderr.split())}")
    return done.stdout.strip()


def _roles(folder: Path, commit: str | None) -> dict[str, Any]:
    if commit is None:
        return {}
    return dict(yaml.safe_load(git(folder, "show", f"{commit}:params.yaml")).get("roles", {}))


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
