"""Git in trees of ours runs without the user's hooks, signing, editor and variables, and not for ever."""

import os
import time
from pathlib import Path

import pytest

from flows.lineage.recorded import CASSETTES, RecordedClone
from flows.rebuild import watch_tree
from flows.rebuild.watch_tree import WatchTree
from flows.repository import git as module
from flows.repository.git import git_text, without_git
from schemas.errors import VignetteError
from schemas.params.runtime import Watch
from tests.support import repository
from tests.support.repository import commit, write_files

HOOKS = ("pre-commit", "commit-msg", "post-commit", "post-checkout", "post-merge", "reference-transaction", "pre-push")
FILES = {
    ".dvc/config": "",
    ".gitignore": ".vignette/\n",
    "pyproject.toml": "[project]\nname = 'vignette'\n",
    "params.yaml": "roles: {}\n",
    "dvc.yaml": "stages: {}\n",
    "dvc.lock": "stages: {}\n",
}


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's clone, whose hooks leave a trace and fail, in which all is signed by a program that fails."""
    place = tmp_path / "clone"
    write_files(place, FILES)
    repository.git(place, "init", "--quiet", "-b", "main")
    commit(place)
    hook = f"#!/bin/sh\ntouch {tmp_path}/hook\nexit 1\n"
    for name in HOOKS:
        write_files(tmp_path / "hooks", {name: hook})
        (tmp_path / "hooks" / name).chmod(0o755)
    hooks = f"[core]\n\thooksPath = {tmp_path}/hooks\n"
    signed = (
        "[gpg]\n\tprogram = false\n[commit]\n\tgpgSign = true\n[tag]\n\tgpgSign = true\n\tforceSignAnnotated = true\n"
        "[log]\n\tshowSignature = true\n"
    )
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / ".gitconfig").write_text(hooks + signed)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("DVC_ROOT", raising=False)
    monkeypatch.chdir(place)
    return place


@pytest.fixture
def of_another(tmp_path: Path, clone: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository that the user's variables name, as in a hook that runs vignette."""
    place = tmp_path / "another"
    write_files(place, {"a.txt": "a\n"})
    repository.git(place, "-c", "core.hooksPath=/dev/null", "init", "--quiet", "-b", "main")
    repository.git(place, "add", "-A")
    repository.git(place, "-c", "core.hooksPath=/dev/null", "-c", "commit.gpgsign=false", "commit", "-qm", "one")
    named = {
        "GIT_DIR": ".git",
        "GIT_WORK_TREE": ".",
        "GIT_INDEX_FILE": ".git/index",
        "GIT_OBJECT_DIRECTORY": ".git/objects",
    }
    for name, value in named.items():
        monkeypatch.setenv(name, str(place / value))
    monkeypatch.setenv("GIT_EDITOR", "sleep 1000; false")
    return place


def test_the_date_of_a_signed_commit_comes_without_its_signature(tmp_path: Path, clone: Path) -> None:
    by, signature = "A <a@b> 1700000000 +0000", "gpgsig -----BEGIN SSH SIGNATURE-----\n -----END SSH SIGNATURE-----"
    file, tree = tmp_path / "signed", git_text("rev-parse", "HEAD^{tree}")
    file.write_text(f"tree {tree}\nauthor {by}\ncommitter {by}\n{signature}\n\none\n")
    signed = git_text("hash-object", "-t", "commit", "-w", str(file))
    assert git_text("show", "--no-patch", "--format=%cs", signed) == "2023-11-14"


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_clones_of_recorded_lineages_and_the_tree_of_a_watch_are_made_and_committed_to(
    tmp_path: Path, clone: Path, of_another: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, head = contents(of_another), (clone / ".git" / "HEAD").read_text()
    monkeypatch.setattr(watch_tree, "_share_cache", lambda folder: None)
    RecordedClone(tmp_path / "demo", CASSETTES / "respiratory")
    RecordedClone(tmp_path / "demo", CASSETTES / "respiratory")
    tree = WatchTree(Watch())
    tree.reset()
    write_files(tree.folder, {"dvc.lock": "stages: {a: {}}\n"})
    lineage = tree.commit("Lineage a", "lineage/a")
    tree.keep()
    assert contents(of_another) == before and not (tmp_path / "hook").exists()
    assert (clone / ".git" / "HEAD").read_text() == head
    assert git_text("rev-parse", "lineage/a") == git_text("rev-parse", "lineages") == lineage


def test_no_editor_waits_for_the_user(clone: Path, of_another: Path) -> None:
    begun = time.monotonic()
    git_text("-c", "user.name=x", "-c", "user.email=x@x", "commit", "--amend", "--quiet")
    assert time.monotonic() - begun < 60


def test_commands_in_trees_of_ours_get_no_variable_of_git(of_another: Path) -> None:
    assert not [name for name in without_git(os.environ) if name in ("GIT_DIR", "GIT_INDEX_FILE", "GIT_EDITOR")]


def test_git_that_does_not_end_is_ended_with_what_it_started(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LIMIT_S", 1.0)
    begun = time.monotonic()
    with pytest.raises(VignetteError, match=r"git wait in .*: did not end within 1 s"):
        git_text("-c", "alias.wait=!sleep 300", "wait")
    assert time.monotonic() - begun < 60


def test_an_error_is_told_in_the_words_of_git(clone: Path) -> None:
    with pytest.raises(VignetteError, match=r"git rev-parse none in .*clone: .*bad revision"):
        git_text("rev-parse", "none", "--")
