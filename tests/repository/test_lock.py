"""A dvc.lock that a killed run left cut short is restored from its copy; what people and git write stays as it is."""

from pathlib import Path

import pytest
import yaml

from flows.repository import lock
from flows.repository.lock import keep_lock, lock_in_use, parse_lock, restore_lock
from schemas.errors import VignetteError
from tests.support.imports import ROOT
from tests.support.repository import commit, git

LOCK = Path("dvc.lock")
NAMES = ("sample", "write", "filter")


def entry(name: str, md5: str = "a" * 32) -> dict[str, object]:
    out = {"path": f"data/{name}.parquet", "hash": "md5", "md5": md5, "size": 7}
    return {"cmd": f"vignette stage {name}", "params": {"params.yaml": {"seed": 7}}, "outs": [out]}


def text_of(**entries: dict[str, object]) -> str:
    """A lock as DVC writes it."""
    return yaml.safe_dump({"schema": "2.0", "stages": entries}, sort_keys=False)


WHOLE = text_of(**{name: entry(name) for name in NAMES})


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A git repository with params.yaml and a lock of which there is a copy, none of them committed."""
    git(tmp_path, "init", "-q")
    (tmp_path / ".dvc").mkdir()
    for name in ("params.yaml", "fingerprints", "dvc.yaml", "pyproject.toml"):
        (tmp_path / name).symlink_to(ROOT / name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DVC_ROOT", raising=False)
    LOCK.write_text(WHOLE)
    restore_lock(LOCK)
    return tmp_path


def commit_lock(text: str) -> None:
    """Write and commit the lock."""
    LOCK.write_text(text)
    commit(Path(), "one", "dvc.lock")


def write_and_be_killed(text: str) -> None:
    """Write the lock in a run that is killed."""
    with pytest.raises(KeyboardInterrupt), lock_in_use(LOCK):
        LOCK.write_text(text)
        raise KeyboardInterrupt


def test_a_lock_is_restored_wherever_it_was_cut(
    clone: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lock, "git", lambda *_, **__: None)  # it knows no lock here, and two processes a cut take long
    for end in range(0, len(WHOLE) - 1, 11):
        write_and_be_killed(WHOLE[:end])
        restore_lock(LOCK)
        assert LOCK.read_text() == WHOLE, end
        assert capsys.readouterr().out == (
            "dvc.lock: may have been cut short when a run was killed, and is restored as it was before\n"
        )


@pytest.mark.parametrize(
    "text", [WHOLE, WHOLE[:-40], WHOLE.replace("a" * 32, "b" * 32, 1), text_of(other=entry("other"))]
)
def test_an_edit_is_no_cut(clone: Path, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    LOCK.write_text(text)
    restore_lock(LOCK)
    assert LOCK.read_text() == text and capsys.readouterr().out == "", "no run was killed"


@pytest.mark.parametrize("older", [WHOLE[: WHOLE.index("  write")], WHOLE[: WHOLE.index("  write") + 60]])
def test_a_lock_that_git_knows_is_whole_also_after_a_killed_run(clone: Path, older: str) -> None:
    """As after git checkout and dvc exp apply, of whatever content."""
    commit_lock(older)
    commit_lock(WHOLE)
    write_and_be_killed(WHOLE)
    git(Path(), "checkout", "-q", "HEAD~1", "--", "dvc.lock")
    restore_lock(LOCK)
    assert LOCK.read_text() == older


def test_what_is_no_lock_never_replaces_the_copy(clone: Path) -> None:
    write_and_be_killed("stages: [")
    keep_lock(LOCK)
    restore_lock(LOCK)
    assert LOCK.read_text() == WHOLE


@pytest.mark.parametrize(
    "content", ["stages: [", "a: &a [*a]", "<<<<<<< HEAD\n", "stages: []", "stages: {write: 1}", "7"]
)
def test_what_is_no_lock_is_one_line(content: str) -> None:
    with pytest.raises(VignetteError, match=r"^main: dvc\.lock: .*restore it from git$"):
        parse_lock(content, "main: dvc.lock")
