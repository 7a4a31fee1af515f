"""Commands that the docs show run on the artefacts of a run as they are shown."""

from pathlib import Path

import pytest

from flows.commands import parser
from tests.support.clone import Clone
from tests.support.shown import shown_commands

pytestmark = pytest.mark.dag

RUN = ("exchange write", "store ledger", "store export")
"""Starts of the commands that are run, without options of which others pay."""


@pytest.fixture
def folder(built: Clone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which the commands find the artefacts of the run and write their own files."""
    for name in ("params.yaml", "dvc.yaml", "data", "fingerprints", ".vignette", ".dvc", "pyproject.toml"):
        (tmp_path / name).symlink_to(built.folder / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_shown_commands_succeed_on_the_artefacts_of_a_run(folder: Path) -> None:
    shown = [" ".join(command.words[1:]) for command in shown_commands() if command.words[0] == "vignette"]
    lines = list(dict.fromkeys(shown))  # two pages may show the same one
    placeholders = ("FORMAT", "--out folder", "--dataset")  # tests/commands/test_installed.py exchanges a dataset
    chosen = [line for line in lines if line.startswith(RUN) and not any(word in line for word in placeholders)]
    assert {start for start in RUN if any(line.startswith(start) for line in chosen)} == set(RUN)
    for line in chosen:
        assert parser.run(line.split()) == 0, line
    assert (folder / "corrections" / "annotation.conf").exists()
