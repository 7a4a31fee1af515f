"""Clones for recorded lineages: what is built in them, when they are built on, and that no folder is replaced."""

from pathlib import Path

import pytest
import yaml

from flows.lineage.recorded import CASSETTES, PARAMS, REPLIES, RecordedClone
from flows.repository.params import STARTED_BY
from flows.repository.workspace import FOLDER, STORE
from schemas.errors import VignetteError
from tests.support.imports import ROOT
from tests.support.repository import commit, git, write_files

CASSETTE = CASSETTES / "respiratory"


def test_a_command_in_a_clone_knows_which_command_the_user_started(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`vignette repro` in the clone advises to repeat that one; repro itself would run and pay for everything."""
    written = f"import os, pathlib\npathlib.Path('said').write_text(os.environ['{STARTED_BY}'])\n"
    write_files(project, {"flows/__init__.py": "", "flows/commands/__init__.py": "", "flows/commands/cli.py": written})
    commit(project)
    monkeypatch.setattr("sys.argv", ["/bin/vignette", "demo", "my clone"])
    clone = RecordedClone(tmp_path / "clone", CASSETTE)
    clone.vignette("repro")
    assert (clone.folder / "said").read_text() == "vignette demo 'my clone'"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A git repository with one commit, as the working directory."""
    folder = tmp_path / "project"
    folder.mkdir()
    git(folder, "init", "-q")
    git(folder, "commit", "-q", "--allow-empty", "-m", "one")
    monkeypatch.chdir(folder)
    monkeypatch.setattr("flows.lineage.recorded.root", lambda: folder)
    return folder


def test_both_lineages_are_built_once_in_a_clone(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shipped = {name: (ROOT / name).read_text() for name in ("params.yaml", str(CASSETTE / PARAMS))}
    prints = {"fingerprints/judge.json": "of rules", f"{CASSETTES}/fingerprints/judge.json": "recorded"}
    write_files(project, shipped | prints | {str(CASSETTE / REPLIES): b""})
    commit(project)
    git(project, "tag", "rules")  # the user's, of something else
    asked: dict[tuple[str, ...], tuple[str, str]] = {}

    def vignette(clone: RecordedClone, *arguments: str) -> None:
        roles = yaml.safe_load((clone.folder / "params.yaml").read_text())["roles"]
        asked[arguments] = roles["judge"]["model"], (clone.folder / "fingerprints" / "judge.json").read_text()

    monkeypatch.setattr(RecordedClone, "vignette", vignette)
    rules, recorded = ("vignette-judge", "of rules"), ("claude-reader", "recorded")
    calls = {
        ("repro", "--keep-server"): rules,
        ("store", "import", str(CASSETTE / REPLIES)): recorded,
        ("repro", "--no-probe"): recorded,
    }
    for expected in (calls, {}):
        clone = RecordedClone(tmp_path / "demo", CASSETTE)
        clone.build_rules()
        clone.build_recorded()
        assert asked == expected and git(clone.folder, "tag").split() == ["rules", "strong-model"]
        asked.clear()


def test_a_build_that_was_killed_between_commit_and_tag_is_built_on(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_files(project, {name: (ROOT / name).read_text() for name in ("params.yaml", str(CASSETTE / PARAMS))})
    commit(project)
    monkeypatch.setattr(RecordedClone, "vignette", lambda *_: None)
    clone = RecordedClone(tmp_path / "demo", CASSETTE)
    clone.build_rules()
    git(clone.folder, "tag", "--delete", "rules")
    clone.build_rules()
    assert git(clone.folder, "tag").split() == ["rules"]


def test_a_clone_of_the_same_commit_and_lineage_is_built_on(project: Path, tmp_path: Path) -> None:
    stored = RecordedClone(tmp_path / "clone", CASSETTE).folder / FOLDER / STORE
    stored.write_bytes(b"paid for")
    RecordedClone(tmp_path / "clone", CASSETTE)
    with pytest.raises(VignetteError, match="for lineage urinary; move it away or remove it"):
        RecordedClone(tmp_path / "clone", CASSETTES / "urinary")
    git(project, "commit", "-q", "--allow-empty", "-m", "two")
    with pytest.raises(VignetteError, match="no clone that this command made of the present commit"):
        RecordedClone(tmp_path / "clone", CASSETTE)
    assert stored.read_bytes() == b"paid for"


@pytest.mark.parametrize("kept", ["folder", "repository", "file"])
def test_another_folder_is_no_clone_to_build_in(project: Path, tmp_path: Path, kept: str) -> None:
    place = tmp_path / "results"
    if kept == "repository":
        git(project, "clone", "-q", str(project), str(place))
    elif kept == "folder":
        place.mkdir()
        (place / "paper.tex").touch()
    else:
        place.touch()
    with pytest.raises(VignetteError, match="exists and is no clone that this command made"):
        RecordedClone(place, CASSETTE)
