"""A dvc.lock that a kill left cut short is restored from its copy; what people and git write is left as it is."""

import re
from pathlib import Path

import pytest
import yaml

from flows.commands.parser import run
from flows.lineage.lineage import current_lineage
from flows.repository import lock
from flows.repository.cache import restore_outputs
from flows.repository.lock import keep_lock, lock_in_use, parse_lock, read_lock, restore_lock
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
BEGUN = text_of(**{name: entry(name, "b" * 32 if name == "write" else "a" * 32) for name in NAMES})
"""What a run that was killed was to write: one entry is another."""
ENDS = [found.start() for found in re.finditer(r"^  (?=\w)", WHOLE, re.MULTILINE)][1:]
"""Where a stage follows another one."""


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


@pytest.mark.parametrize("written", [WHOLE, BEGUN])
def test_a_lock_is_restored_wherever_it_was_cut(
    clone: Path, written: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lock, "git", lambda *_, **__: None)  # it knows no lock here, and four processes a cut take long
    beside = {end + step for end in ENDS for step in (-2, -1, 1, 2, 3)}
    for end in ({*range(0, len(written) - 1, 11)} | beside) - {*ENDS}:
        LOCK.write_text(written[:end])
        assert read_lock(LOCK) == yaml.safe_load(WHOLE), written[:end]
        restore_lock(LOCK)
        assert LOCK.read_text() == WHOLE, written[:end]
        assert capsys.readouterr().out == (
            "dvc.lock: was cut short when a run was killed, and is restored as it was before\n"
        )


@pytest.mark.parametrize("end", ENDS)
def test_one_that_ends_between_two_stages_is_restored_after_a_run_that_was_killed(clone: Path, end: int) -> None:
    write_and_be_killed(WHOLE[:end])
    restore_lock(LOCK)
    assert LOCK.read_text() == WHOLE
    with lock_in_use(LOCK):
        pass
    LOCK.write_text(WHOLE[:end])
    restore_lock(LOCK)
    assert LOCK.read_text() == WHOLE[:end], "a person removed the last entries"


@pytest.mark.parametrize("added", [WHOLE, WHOLE + "  span:\n    cmd: vignette st", WHOLE + "  span:\n    cmd: x\n"])
def test_a_stage_that_was_being_added_is_lost_alone(clone: Path, added: str) -> None:
    write_and_be_killed(added)
    restore_lock(LOCK)
    assert LOCK.read_text() == WHOLE


def test_without_a_copy_the_last_commit_takes_its_place(clone: Path) -> None:
    commit_lock(WHOLE)
    for copy in Path(".vignette/locks").iterdir():
        copy.unlink()
    LOCK.write_text(WHOLE[:-40])
    restore_lock(LOCK)
    assert LOCK.read_text() == WHOLE


EDITS = {
    "an entry removed": text_of(sample=entry("sample"), filter=entry("filter")),
    "the last entries removed": text_of(sample=entry("sample")),
    "a hash replaced": WHOLE.replace("a" * 32, "c" * 32, 1),
    "the last end of line removed": WHOLE.rstrip("\n"),
    "an entry added": text_of(**{name: entry(name) for name in (*NAMES, "span")}),
    "other stages": text_of(other=entry("other")),
}


@pytest.mark.parametrize("edit", EDITS)
def test_an_edit_is_no_cut(clone: Path, edit: str, capsys: pytest.CaptureFixture[str]) -> None:
    LOCK.write_text(EDITS[edit])
    assert read_lock(LOCK) == yaml.safe_load(EDITS[edit])
    restore_lock(LOCK)
    assert LOCK.read_text() == EDITS[edit] and capsys.readouterr().out == ""


@pytest.mark.parametrize("older", [WHOLE[: ENDS[0]], WHOLE[: ENDS[0] + 60]])
def test_a_lock_that_git_knows_is_whole_also_after_a_killed_run(clone: Path, older: str) -> None:
    """As after git checkout and dvc exp apply, of whatever content."""
    commit_lock(older)
    commit_lock(WHOLE)
    write_and_be_killed(WHOLE)
    git(Path(), "checkout", "-q", "HEAD~1", "--", "dvc.lock")
    restore_lock(LOCK)
    assert LOCK.read_text() == older


def test_a_lock_that_is_cut_never_replaces_its_copy(clone: Path) -> None:
    LOCK.write_text(WHOLE[:-40])
    keep_lock(LOCK)
    restore_lock(LOCK)
    assert LOCK.read_text() == WHOLE


@pytest.mark.parametrize(
    "content", ["stages: [", "a: &a [*a]", "<<<<<<< HEAD\n", "stages: []", "stages: {write: 1}", "7"]
)
def test_what_is_no_lock_is_one_line(content: str) -> None:
    with pytest.raises(VignetteError, match=r"^main: dvc\.lock: .*restore it from git$"):
        parse_lock(content, "main: dvc.lock")


def test_every_reader_of_a_cut_lock_reads_its_copy(clone: Path) -> None:
    whole = current_lineage().id
    LOCK.write_text(WHOLE[:-45])
    assert current_lineage().id == whole
    LOCK.write_text("stages: [")
    assert restore_outputs(Path("dvc.yaml"), "sample") == []  # the stage's own error is what is said


def test_a_command_that_meets_no_lock_says_so_in_one_line(clone: Path, capsys: pytest.CaptureFixture[str]) -> None:
    commit_lock(WHOLE)
    LOCK.write_text("stages: [")
    assert run(["compare", "workspace", "HEAD"]) == 1
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 1 and "dvc.lock: not valid YAML" in said[0]
