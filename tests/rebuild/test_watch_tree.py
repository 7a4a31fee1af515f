"""The watch's tree holds committed code of the watched branch and results of the last lineage, and nothing else."""

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from flows.commands import watch as watch_command
from flows.rebuild import watch_tree
from flows.rebuild.watch_tree import WatchTree
from flows.repository.params import BUDGET, STARTED_BY
from schemas.errors import SourceError, VignetteError
from schemas.params.llm import Budget
from schemas.params.runtime import Watch
from tasks.tracking.lineage import read_lineage
from tests.support.repository import commit, git, write_files

PIPELINE = "stages:\n  score: {cmd: x, outs: [{reports/score.csv: {cache: false}}]}\n"
LOCK = "stages: {score: {params: {params.yaml: {seed: TAG}}}}\n"
FILES = {
    "dvc.yaml": PIPELINE,
    "dvc.lock": "stages: {}\n",
    "params.yaml": "roles: {judge: {base_url: 'http://x', model: a}, writer: {base_url: simulator, model: w}}\n",
    "fingerprints/judge.json": "judge 1\n",
    "reports/score.csv": "0.1\n",
    ".dvc/config": "",
    ".gitignore": ".vignette/\n",
    "code.py": "1\n",
    "pyproject.toml": "[project]\nname = 'vignette'\n",
}


@dataclass
class Watched:
    """Params of the watch alone."""

    watch: Watch


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A committed clone, in which the cache is not shared (DVC takes a second to say where it is)."""
    write_files(tmp_path, FILES)
    git(tmp_path, "init", "--quiet", "-b", "main")
    commit(tmp_path, "start")
    monkeypatch.delenv("DVC_ROOT", raising=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(watch_tree, "_share_cache", lambda folder: None)
    return tmp_path


def rebuilt(tree: WatchTree, score: str, tag: str) -> str:
    """A round in which the judge changed: its fingerprint, the lock and a table are rewritten."""
    identity, lock = f'"judge of {tag}"\n', LOCK.replace("TAG", tag)
    write_files(tree.folder, {"fingerprints/judge.json": identity, "dvc.lock": lock, "reports/score.csv": score})
    made = tree.commit(f"Lineage {tag}", tag)
    tree.keep()
    return made


@pytest.fixture
def tree(clone: Path) -> WatchTree:
    """The tree of a watch whose first round has begun."""
    made = WatchTree(Watch())
    made.reset()
    return made


def test_the_tree_has_no_uncommitted_edits(clone: Path) -> None:
    write_files(clone, {"code.py": "edited\n", "new.py": "new\n"})
    tree = WatchTree(Watch())
    assert tree.reset()  # the first round builds the branch
    assert (tree.folder / "code.py").read_text() == "1\n"
    assert not (tree.folder / "new.py").exists()
    assert git(clone, "status", "--porcelain", "code.py") == " M code.py"  # and the person keeps them


def test_a_lineage_is_committed_and_tagged_beside_the_branch(clone: Path, tree: WatchTree) -> None:
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
    write_files(clone, {"code.py": "2\n", "params.yaml": FILES["params.yaml"].replace("model: a", "model: b")})
    commit(clone, "another model")
    assert tree.reset()
    assert (tree.folder / "code.py").read_text() == "2\n"
    assert (tree.folder / "reports/score.csv").read_text() == "0.2\n"
    assert (tree.folder / "fingerprints/judge.json").read_text() == '"judge of lineage/a"\n'
    assert tree.edited_roles() == ["judge", "writer"]
    assert git(clone, "rev-parse", "lineages") == git(clone, "rev-parse", "lineage/a")  # until the round is kept
    merged = rebuilt(tree, "0.3\n", "lineage/b")
    assert git(clone, "merge-base", "main", merged) == git(clone, "rev-parse", "main")
    assert not tree.reset()


def test_the_tree_in_a_copy_of_a_clone_is_made_again_and_the_first_stays_as_it_is(
    clone: Path, tree: WatchTree, monkeypatch: pytest.MonkeyPatch
) -> None:
    rebuilt(tree, "0.2\n", "lineage/a")
    copy = shutil.copytree(clone, clone.with_name(f"{clone.name}-copy"))
    monkeypatch.chdir(copy)
    copied = WatchTree(Watch())
    copied.reset()
    assert rebuilt(copied, "0.3\n", "lineage/b") == git(copy, "rev-parse", "lineages")
    assert git(tree.folder, "status", "--porcelain") == ""


def test_what_a_failed_round_left_is_discarded(tree: WatchTree) -> None:
    rebuilt(tree, "0.2\n", "lineage/a")
    write_files(tree.folder, {"fingerprints/judge.json": "judge 9\n", "reports/half.csv": "x"})
    assert tree.changed_roles() == ["judge"]
    tree.reset()
    assert tree.changed_roles() == []
    assert not (tree.folder / "reports/half.csv").exists()
    assert (tree.folder / "reports/score.csv").read_text() == "0.2\n"


def test_commands_in_the_tree_have_the_budget_of_the_watch_and_the_command_that_resumes_it(clone: Path) -> None:
    tree = WatchTree(Watch(budget=Budget(ledger="nightly", dollars=5)))
    tree.reset()
    started = f"assert os.environ['{STARTED_BY}'] == 'vignette watch once'\n"
    write_files(tree.folder, {"said.py": f"import os\nassert '\"nightly\"' in os.environ['{BUDGET}']\n{started}"})
    assert tree.run("said") == 0


def test_lineages_are_queued_until_both_remotes_have_them(
    clone: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    sent, down = [], {"lineage/a", "lineage/b"}

    def push(_folder: Path, tag: str) -> None:
        if tag in down:
            raise SourceError(f"no room for {tag}")
        sent.append(tag)

    monkeypatch.setattr(watch_tree, "push_artefacts", push)
    tree = WatchTree(Watch(git_remote="team"))
    tree.reset()
    for number, tag in enumerate(["lineage/a", "lineage/b"]):
        rebuilt(tree, f"{number}\n", tag)
        assert tree.push(tag) == "no room for lineage/a"
    assert list(WatchTree(Watch()).pending()) == ["lineage/a", "lineage/b"], "known to the next round"
    down.remove("lineage/b")
    assert tree.push_pending() == "no room for lineage/a"
    assert (sent, list(tree.pending())) == (["lineage/b"], ["lineage/a", "lineage/b"]), "git has not acknowledged it"
    git(clone, "init", "--quiet", "--bare", str(clone / ".vignette" / "team.git"))
    git(clone, "remote", "add", "team", str(clone / ".vignette" / "team.git"))
    assert tree.push_pending() == "no room for lineage/a"
    assert list(tree.pending()) == ["lineage/a"] and sent == ["lineage/b"] * 2
    monkeypatch.setattr(watch_command, "load_params", lambda: Watched(Watch()))
    watch_command.status()
    first, *others = capsys.readouterr().out.splitlines()
    lineage = read_lineage(yaml.safe_load(LOCK.replace("TAG", "lineage/b"))).id
    assert first == f"last lineage: {lineage}, commit {git(clone, 'rev-parse', 'lineages')[:10]} of branch lineages"
    assert others[0] == "to be pushed: 1"
    assert re.fullmatch(r"  lineage/a since \d{4}-\d\d-\d\d \d\d:\d\d UTC", others[1])
    down.clear()
    assert tree.push_pending() is None and tree.pending() == {}
    pushed = git(clone, "ls-remote", "--tags", "team")
    assert "lineage/a" in pushed and "lineage/b" in pushed


def test_a_damaged_queue_is_named_with_the_commands_that_repair_it(clone: Path) -> None:
    tree = WatchTree(Watch())
    write_files(clone, {".vignette/watch-unpushed.json": '{"lineage/a": '})
    with pytest.raises(VignetteError, match=r"watch-unpushed.json: not readable .*dvc push --all-tags"):
        tree.pending()


def test_a_lock_that_a_killed_git_left_in_the_tree_is_removed(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch_tree, "LOCK_S", 0.3)
    tree = WatchTree(Watch())
    tree.reset()
    lock = clone / ".git" / "worktrees" / "watch" / "index.lock"
    lock.touch()
    assert tree.reset() and not lock.exists()


def test_a_lock_in_the_clone_is_named_with_the_command_that_removes_it(clone: Path, tree: WatchTree) -> None:
    write_files(clone, {".git/refs/heads/lineages.lock": ""})
    with pytest.raises(VignetteError, match=r"a killed one left it: rm .*/lineages.lock"):
        rebuilt(tree, "0.2\n", "lineage/a")


@pytest.mark.parametrize("damage", ["deleted", "pointer", "pointed", "index", "head", "is a file"])
def test_a_damaged_tree_is_made_again(clone: Path, tree: WatchTree, damage: str) -> None:
    rebuilt(tree, "0.2\n", "lineage/a")
    administration = clone / ".git" / "worktrees" / "watch"
    match damage:
        case "deleted":
            shutil.rmtree(tree.folder)
        case "pointer":
            (tree.folder / ".git").unlink()
        case "pointed":
            shutil.rmtree(administration)
        case "index":
            (administration / "index").write_bytes(b"no index")
        case "head":
            (administration / "HEAD").write_text("")
        case "is a file":
            (tree.folder / ".git").write_text("no pointer")
    assert not tree.reset()
    assert (tree.folder / "reports/score.csv").read_text() == "0.2\n"
    assert git(tree.folder, "rev-parse", "--show-toplevel") == str(tree.folder)


def test_a_worktree_of_the_user_on_a_disk_that_is_not_there_is_not_forgotten(clone: Path, tree: WatchTree) -> None:
    git(clone, "worktree", "add", "--quiet", "--detach", str(clone / "own"), "HEAD")
    git(clone / "own", "commit", "--quiet", "--allow-empty", "-m", "kept by no branch")
    made = git(clone / "own", "rev-parse", "HEAD")
    (clone / "own").rename(clone / "away")
    shutil.rmtree(tree.folder)
    tree.reset()
    (clone / "away").rename(clone / "own")
    assert git(clone / "own", "rev-parse", "HEAD") == made


def test_a_new_result_is_committed_whatever_files_the_user_has_git_ignore(
    clone: Path, tree: WatchTree, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_files(clone, {"home/git/ignore": "*.csv\n"})
    monkeypatch.setenv("XDG_CONFIG_HOME", str(clone / "home"))
    write_files(tree.folder, {"reports/more.csv": "0.5\n"})
    rebuilt(tree, "0.2\n", "lineage/a")
    assert git(clone, "show", "lineages:reports/more.csv") == "0.5"


def test_a_branch_of_lineages_that_the_user_has_checked_out_is_not_moved(clone: Path, tree: WatchTree) -> None:
    made, mine = rebuilt(tree, "0.2\n", "lineage/a"), clone / "own"
    git(clone, "worktree", "add", "--quiet", str(mine), "lineages")
    with pytest.raises(VignetteError, match=r"lineages is checked out.*git switch -d lineages"):
        tree.reset()
    git(mine, "switch", "--quiet", "-d", "lineages")
    assert not tree.reset() and tree.head() == made


def test_a_missing_branch_is_named(clone: Path) -> None:
    with pytest.raises(VignetteError, match=r"watch.branch absent is no branch.*git branch absent COMMIT"):
        WatchTree(Watch(branch="absent")).reset()
