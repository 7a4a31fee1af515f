"""A clone counts where it is vignette's and nobody else's, and its state is readable by its user alone."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from flows.commands.parser import run
from flows.repository import workspace as places
from flows.repository.params import load_params
from flows.repository.workspace import FOLDER, STORE, WORKSPACE, clone, is_own, params_file, root, workspace
from schemas.errors import ParamsError, VignetteError
from tasks.transport.store import ResponseStore
from tests.support.imports import ROOT
from tests.support.repository import write_files

OTHER = 1000
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to another user")
CODE = "print('code of this folder')\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clone of the user's, with a folder in it as the working directory."""
    place = tmp_path / "clone"
    packages = {"flows/__init__.py": "", "flows/commands/__init__.py": "", "flows/commands/cli.py": CODE}
    project = '[project]\nname = "vignette"\n'
    write_files(place, {".dvc/config": "", "pyproject.toml": project, "params.yaml": "seed: 1\n", **packages})
    (place / "below").mkdir()
    monkeypatch.delenv("DVC_ROOT", raising=False)
    monkeypatch.delenv(WORKSPACE, raising=False)
    monkeypatch.chdir(place / "below")
    return place


def give(folder: Path, user: int = OTHER) -> None:
    for path in (folder, *folder.rglob("*")):
        os.lchown(path, user, -1)


def ran(folder: Path) -> str:
    """What the installed command prints in a folder; as a script, it does not look there for modules."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONSAFEPATH": "1"}
    command = [sys.executable, "-c", "from flows.commands.cli import main; main()", "--version"]
    return subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout


def test_a_clone_of_the_user_is_found_from_below(folder: Path) -> None:
    assert clone() == root() == folder and params_file() == folder / "params.yaml"


@needs_root
@pytest.mark.parametrize(
    "foreign", [".", ".dvc", FOLDER, "pyproject.toml", "params.yaml", "flows", "flows/commands/cli.py"]
)
def test_a_folder_of_which_a_part_belongs_to_another_user_is_no_clone(folder: Path, foreign: str) -> None:
    (folder / FOLDER).mkdir()
    os.lchown(folder / foreign, OTHER, -1)
    assert clone() is None and params_file() != folder / "params.yaml" and not is_own(folder)
    with pytest.raises(VignetteError, match=rf"{folder} is one that belongs to another user.*chown"):
        root()


@needs_root
def test_files_of_another_user_do_not_count_by_links_to_ones_own(folder: Path, tmp_path: Path) -> None:
    planted = tmp_path / "planted"
    planted.mkdir()
    for name in (".dvc", "pyproject.toml", "params.yaml", "flows"):
        (planted / name).symlink_to(folder / name)
        os.lchown(planted / name, OTHER, -1)
    assert not is_own(planted)


@pytest.mark.parametrize("project", [None, "[project]\nname = 'another'\n", "[project\n", "name = 'vignette'\n"])
def test_a_folder_of_another_project_is_no_clone(folder: Path, project: str | None) -> None:
    (folder / "pyproject.toml").unlink()
    if project is not None:
        (folder / "pyproject.toml").write_text(project)
    assert clone() is None
    with pytest.raises(VignetteError, match="no clone of vignette here or above"):
        root()


@needs_root
def test_only_code_of_a_folder_of_ones_own_is_run(folder: Path) -> None:
    assert ran(folder) == CODE.split("'")[1] + "\n"
    give(folder)
    assert ran(folder).startswith("vignette ")


@needs_root
def test_params_of_another_user_are_read_only_when_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    shutil.copy(ROOT / "params.yaml", "params.yaml")
    os.lchown("params.yaml", OTHER, -1)
    with pytest.raises(ParamsError, match=r"params\.yaml: belongs to another user"):
        load_params()
    assert run(["probe"]) == 1 and "belongs to another user" in capsys.readouterr().err
    assert load_params(folder / "params.yaml").seed


def test_the_folder_of_state_and_its_store_are_readable_by_their_user_alone(folder: Path) -> None:
    (folder / FOLDER).mkdir(mode=0o755)  # as an earlier version made it
    (folder / FOLDER / STORE).touch(mode=0o644)
    assert mode(workspace()) == 0o700
    with ResponseStore(folder / FOLDER / STORE), ResponseStore(folder / "elsewhere.sqlite"):
        files = [*folder.glob("elsewhere.sqlite*"), *(folder / FOLDER).glob(f"{STORE}*")]
        assert len(files) >= 4 and {mode(file) for file in files} == {0o600}


def test_the_cache_of_an_installation_is_readable_by_its_user_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DVC_ROOT", raising=False)
    monkeypatch.delenv(WORKSPACE, raising=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(places, "user_cache_path", lambda name: tmp_path / "cache" / name)
    assert workspace() == tmp_path / "cache" / "vignette" and mode(workspace()) == 0o700


def test_a_folder_of_state_that_the_user_shares_stays_shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(WORKSPACE, str(tmp_path / "shared"))
    assert mode(workspace()) == 0o700
    (tmp_path / "shared").chmod(0o770)
    assert mode(workspace()) == 0o770


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777
