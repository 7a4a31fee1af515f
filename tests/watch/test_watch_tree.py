"""The watch's tree holds committed code of the watched branch and results of the last lineage, and nothing else."""

import subprocess
from pathlib import Path

import pytest

from flows.rebuild import watch_tree
from flows.rebuild.watch_tree import WatchTree, git
from schemas.errors import VignetteError
from schemas.params.runtime import Watch

PIPELINE = "stages:\n  score: {cmd: x, outs: [{reports/score.csv: {cache: false}}]}\n"
FILES = {
    "dvc.yaml": PIPELINE,
    "dvc.lock": "stages: {}\n",
    "params.yaml": "roles: {judge: {base_url: 'http://x', model: a}, writer: {base_url: simulator, model: w}}\n",
    "fingerprints/judge.json": "judge 1\n",
    "reports/score.csv": "0.1\n",
    ".dvc/config": "",
    ".gitignore": ".vignette/\n",
    "code.py": "1\n",
}


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A committed clone, in which the cache is not shared (DVC takes a second to say where it is)."""
    for name, text in FILES.items():
        write(tmp_path, name, text)
    git(tmp_path, "init", "--quiet", "-b", "main")
    commit(tmp_path, "start")
    monkeypatch.delenv("DVC_ROOT", raising=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(watch_tree, "_share_cache", lambda folder: None)
    return tmp_path


def write(folder: Path, name: str, text: str) -> None:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)


def commit(folder: Path, message: str) -> None:
    git(folder, "add", "-A")
    git(folder, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "-m", message)


def rebuilt(tree: WatchTree, score: str, tag: str) -> str:
    """A round in which the judge changed: its fingerprint, the lock and a table are rewritten."""
    write(tree.folder, "fingerprints/judge.json", f"judge of {tag}\n")
    write(tree.folder, "dvc.lock", f"lock of {tag}\n")
    write(tree.folder, "reports/score.csv", score)
    made = tree.commit(f"Lineage {tag}", tag)
    tree.keep()
    return made


def test_the_tree_has_no_uncommitted_edits(clone: Path) -> None:
    write(clone, "code.py", "edited\n")
    write(clone, "new.py", "new\n")
    tree = WatchTree(Watch())
    assert tree.reset()  # the first round builds the branch
    assert (tree.folder / "code.py").read_text() == "1\n"
    assert not (tree.folder / "new.py").exists()
    assert git(clone, "status", "--porcelain", "code.py").startswith("M")  # and the person keeps them


def test_a_lineage_is_committed_and_tagged_beside_the_branch(clone: Path) -> None:
    tree = WatchTree(Watch())
    tree.reset()
    made = rebuilt(tree, "0.2\n", "lineage/a")
    assert git(clone, "rev-parse", "lineages") == git(clone, "rev-parse", "lineage/a") == made
    assert git(clone, "show", "lineages:reports/score.csv") == "0.2"
    assert (clone / "reports/score.csv").read_text() == "0.1\n"
    assert not tree.reset()
    assert tree.changed_roles() == []


def test_new_commits_are_merged_and_results_of_the_last_lineage_kept(clone: Path) -> None:
    tree = WatchTree(Watch(branch="main"))
    tree.reset()
    rebuilt(tree, "0.2\n", "lineage/a")
    write(clone, "code.py", "2\n")
    write(clone, "params.yaml", FILES["params.yaml"].replace("model: a", "model: b"))
    commit(clone, "another model")
    assert tree.reset()
    assert (tree.folder / "code.py").read_text() == "2\n"
    assert (tree.folder / "reports/score.csv").read_text() == "0.2\n"
    assert (tree.folder / "fingerprints/judge.json").read_text() == "judge of lineage/a\n"
    assert (tree.edited_roles(), tree.simulated_roles()) == (["judge"], ["writer"])
    assert git(clone, "rev-parse", "lineages") == git(clone, "rev-parse", "lineage/a")  # until the round is kept
    merged = rebuilt(tree, "0.3\n", "lineage/b")
    assert git(clone, "merge-base", "main", merged) == git(clone, "rev-parse", "main")
    assert not tree.reset()


def test_what_a_failed_round_left_is_discarded(clone: Path) -> None:
    tree = WatchTree(Watch())
    tree.reset()
    rebuilt(tree, "0.2\n", "lineage/a")
    write(tree.folder, "fingerprints/judge.json", "judge 9\n")
    write(tree.folder, "reports/half.csv", "x")
    assert tree.changed_roles() == ["judge"]
    tree.reset()
    assert tree.changed_roles() == []
    assert not (tree.folder / "reports/half.csv").exists()
    assert (tree.folder / "reports/score.csv").read_text() == "0.2\n"


def test_a_lineage_that_could_not_be_pushed_is_pushed_in_a_later_round(
    clone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = WatchTree(Watch(git_remote="team"))
    tree.reset()
    rebuilt(tree, "0.2\n", "lineage/a")
    monkeypatch.setattr(WatchTree, "run", lambda self, *command: 0)  # dvc push
    assert "git push" in str(tree.push("lineage/a")) and tree.unpushed() == "lineage/a"
    git(clone, "init", "--quiet", "--bare", str(clone / ".vignette" / "team.git"))
    git(clone, "remote", "add", "team", str(clone / ".vignette" / "team.git"))
    assert tree.push("lineage/a") is None and tree.unpushed() is None
    assert "lineage/a" in git(clone, "ls-remote", "--tags", "team")


def test_a_tree_that_was_deleted_is_made_again(clone: Path) -> None:
    tree = WatchTree(Watch())
    tree.reset()
    rebuilt(tree, "0.2\n", "lineage/a")
    subprocess.run(["rm", "-rf", str(tree.folder)], check=True)
    assert not tree.reset()
    assert (tree.folder / "reports/score.csv").read_text() == "0.2\n"


def test_a_missing_branch_is_named(clone: Path) -> None:
    with pytest.raises(VignetteError, match=r"rev-parse absent"):
        WatchTree(Watch(branch="absent")).reset()
