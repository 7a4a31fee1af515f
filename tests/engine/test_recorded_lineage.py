"""The clone of the recorded lineage replaces an earlier one, and nothing else that a person keeps."""

import subprocess
from pathlib import Path

import pytest

from flows.lineage.recorded import RecordedClone
from schemas.errors import VignetteError


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A git repository with one commit, as the working directory."""
    folder = tmp_path / "project"
    folder.mkdir()
    who = ["-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run(["git", "init", "--quiet", str(folder)], check=True)
    subprocess.run(["git", *who, "commit", "--quiet", "--allow-empty", "-m", "one"], cwd=folder, check=True)
    monkeypatch.chdir(folder)
    monkeypatch.setattr("flows.lineage.recorded.root", lambda: folder)
    return folder


def test_an_earlier_clone_is_replaced(project: Path, tmp_path: Path) -> None:
    earlier = RecordedClone(tmp_path / "demo").folder / "result.csv"
    earlier.write_text("of the earlier clone", encoding="utf-8")
    RecordedClone(tmp_path / "demo")
    assert (tmp_path / "demo" / ".git").is_dir() and not earlier.exists()


@pytest.mark.parametrize("change", ["notes.txt", "commit"])
def test_a_clone_that_was_changed_since_it_was_completed_is_kept(project: Path, tmp_path: Path, change: str) -> None:
    clone = RecordedClone(tmp_path / "demo")
    clone.complete()
    clone = RecordedClone(tmp_path / "demo")
    clone.complete()
    if change == "commit":
        who = ["-c", "user.name=a", "-c", "user.email=a@b"]
        subprocess.run(["git", *who, "commit", "-q", "--allow-empty", "-m", "mine"], cwd=clone.folder, check=True)
    else:
        (clone.folder / change).write_text("mine")
    with pytest.raises(VignetteError, match="was changed since it was made; remove it, or name another --folder"):
        RecordedClone(tmp_path / "demo")


@pytest.mark.parametrize("kept", ["folder", "repository", "file"])
def test_nothing_else_is_deleted(project: Path, tmp_path: Path, kept: str) -> None:
    place = tmp_path / "results"
    if kept == "repository":
        subprocess.run(["git", "clone", "--quiet", str(project), str(place)], check=True)
    elif kept == "folder":
        place.mkdir()
        (place / "paper.tex").touch()
    else:
        place.touch()
    with pytest.raises(VignetteError, match="is no earlier clone made by this command; name another --folder"):
        RecordedClone(place)
    assert place.exists() and (kept != "folder" or (place / "paper.tex").exists())
