"""`vignette domain` adds, lists and checks domains."""

import re
from pathlib import Path
from shutil import copytree

import pytest

from flows.commands import domain
from schemas.errors import DomainError
from tasks.domains import in_use
from tasks.domains.rules import rules_of
from tests.support.cases import from_table


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("_skeleton", "respiratory"):
        copytree(in_use.FOLDER / name, tmp_path / name)
    monkeypatch.setattr(in_use, "FOLDER", tmp_path)
    monkeypatch.setattr(domain, "FOLDER", tmp_path)
    monkeypatch.setattr(domain, "SKELETON", tmp_path / "_skeleton")
    return tmp_path


def test_a_new_domain_has_no_defects(elsewhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    domain.new("ears")
    domain.check("ears")
    assert capsys.readouterr().out.endswith("ears: no defects\n")


def change(elsewhere: Path, name: str, old: str, new: str) -> None:
    """Make the domain `ears` with a replaced text in one of the writer's files."""
    domain.new("ears")
    file = elsewhere / "ears" / "writer" / f"{name}.yaml"
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new), encoding="utf-8")


@from_table
def test_words_that_are_missing_or_not_used_are_named(
    elsewhere: Path, file: str, old: str, new: str, message: str
) -> None:
    change(elsewhere, file, old, new)
    with pytest.raises(DomainError, match=re.escape(message)):
        domain.check("ears")


@pytest.mark.parametrize("name", ["respiratory", "urinary"])
def test_the_files_of_a_network_are_written_without_defects(
    elsewhere: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    network = Path(domain.__file__).parents[2] / "tasks" / "domains" / name / "network.yaml"
    domain.new("mine", network)
    domain.check("mine")
    assert capsys.readouterr().out.endswith("mine: no defects\n")
    assert "name: mine\n" in (elsewhere / "mine" / "network.yaml").read_text(encoding="utf-8")
    assert rules_of("mine").claims == {"fever": {"none": "no fever", "low": "a low fever", "high": "a high fever"}}


def test_a_network_without_symptoms_is_refused(elsewhere: Path) -> None:
    network = elsewhere / "network.yaml"
    text = (elsewhere / "_skeleton" / "network.yaml").read_text(encoding="utf-8")
    network.write_text(text.replace("type: symptom", "type: diagnosis"), encoding="utf-8")
    with pytest.raises(DomainError, match="no variable of type symptom"):
        domain.new("mine", network)
    assert not (elsewhere / "mine").exists()


def test_a_domain_is_not_overwritten(elsewhere: Path) -> None:
    domain.new("ears")
    with pytest.raises(DomainError, match="exists already"):
        domain.new("ears")
