"""The rules read every domain that ships: its first wording almost without error, a second one with errors."""

import re
from pathlib import Path
from shutil import copytree

import pytest

from flows.commands import domain
from flows.runtime.domain import load_domain
from schemas.errors import DomainError
from tasks.domains import in_use
from tasks.judges.writer_quality import Misread, Reading, domain_reading, misread_symptoms
from tasks.simulator.truth import GoldSpan, Truth
from tests.support.cases import from_table


def read(name: str) -> dict[str, Reading]:
    with in_use.in_domain(name):
        found = load_domain(name)
        return domain_reading(found.network, found.wording, 80, 3)


def test_the_rules_read_the_urinary_domain_and_a_second_wording_less_well() -> None:
    found = read("urinary")
    first, second = found["first"].measures, found["second"].measures
    assert min(first.values()) >= 0.95
    assert second["symptom F1 (normal)"] < 0.9 and second["check precision"] < first["check precision"]


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("_skeleton", "respiratory"):
        copytree(in_use.FOLDER / name, tmp_path / name)
    monkeypatch.setattr(in_use, "FOLDER", tmp_path)
    monkeypatch.setattr(domain, "FOLDER", tmp_path)
    monkeypatch.setattr(domain, "SKELETON", tmp_path / "_skeleton")
    return tmp_path


def test_a_new_domain_has_no_defects_and_is_read_by_the_rules(elsewhere: Path) -> None:
    domain.new("ears")
    domain.check("ears")
    found = read("ears")["first"]
    assert found.measures["symptom F1 (normal)"] > 0.9 and found.measures["check recall"] > 0.8
    assert not [one for one in found.misread if one.error == "missed" and one.version == "normal"]


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


def test_misread_symptoms_are_counted_with_their_most_frequent_wording() -> None:
    def note(text: str, *symptoms: str) -> Truth:
        spans = tuple(GoldSpan(symptom, 0, len(text), text, "history", present=True) for symptom in symptoms)
        return Truth(text, spans, error=None)

    notes = [note("He is gronking.", "cough"), note("No gronks.", "cough"), note("No gronks.", "cough")]
    with in_use.in_domain("respiratory"):
        found = misread_symptoms("compact", [*notes, note("He has a cough.")], {"cough": "cough"})
    assert found == [
        Misread("compact", "missed", "cough", 3, "No gronks."),
        Misread("compact", "not in note", "cough", 1, "a cough"),
    ]


def test_the_command_lists_misread_symptoms(elsewhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    change(elsewhere, "shorthand", "abbreviations: {}", "abbreviations: {earache: EA}")
    domain.quality("ears", records=40, seed=3)
    assert re.search(r"^  compact: earache missed, \d+ notes, such as '.*EA", capsys.readouterr().out, re.MULTILINE)


def test_a_domain_is_not_overwritten(elsewhere: Path) -> None:
    domain.new("ears")
    with pytest.raises(DomainError, match="exists already"):
        domain.new("ears")
