"""The rules read every domain that ships: its first wording almost without error, a second one with errors."""

import re
from pathlib import Path
from shutil import copytree

import pytest

from flows.commands import domain
from flows.engine.domain_quality import Misread, domain_quality, misread_symptoms
from schemas.errors import DomainError
from tasks.domains import in_use
from tasks.simulator.truth import GoldSpan, Truth


def test_the_rules_read_the_urinary_domain_and_a_second_wording_less_well() -> None:
    with in_use.in_domain("urinary"):
        found = domain_quality(120, 3)
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
    with in_use.in_domain("ears"):
        found = domain_quality(80, 3)["first"]
    assert found.measures["symptom F1 (normal)"] > 0.9 and found.measures["check recall"] > 0.8
    assert not [one for one in found.misread if one.error == "missed" and one.version == "normal"]


def test_a_symptom_without_words_is_named(elsewhere: Path) -> None:
    domain.new("ears")
    rules = elsewhere / "ears" / "writer" / "symptoms.yaml"
    rules.write_text(rules.read_text(encoding="utf-8").replace("  denied:", "  refused:"), encoding="utf-8")
    with pytest.raises(DomainError, match=r"no rule earache\.denied"):
        domain.check("ears")


NEEDED = {
    "focus": (
        "  history:\n    earache:",
        "no rule focus.history.earache, which focus.history.earache of rates.yaml needs",
    ),
    "symptoms": ("  exam: |\n    [e+", "no rule earache.exam, which exam.earache of rates.yaml needs"),
}


@pytest.mark.parametrize(("file", "text", "message"), [(file, *pair) for file, pair in NEEDED.items()], ids=NEEDED)
def test_a_rule_that_a_rate_needs_is_named(elsewhere: Path, file: str, text: str, message: str) -> None:
    domain.new("ears")
    path = elsewhere / "ears" / "writer" / f"{file}.yaml"
    written = path.read_text(encoding="utf-8")
    renamed = text.replace("earache:", "ear:").replace("exam:", "examination:")
    assert text in written
    path.write_text(written.replace(text, renamed), encoding="utf-8")
    with pytest.raises(DomainError, match=message):
        domain.check("ears")


def test_words_for_a_condition_that_the_domain_lacks_are_named(elsewhere: Path) -> None:
    domain.new("ears")
    path = elsewhere / "ears" / "writer" / "conditions.yaml"
    path.write_text(path.read_text(encoding="utf-8").replace("diabetes", "gout"), encoding="utf-8")
    with pytest.raises(DomainError, match=r"condition\.names\.gout: no underlying condition has the label 'gout'"):
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
    domain.new("ears")
    shorthand = elsewhere / "ears" / "writer" / "shorthand.yaml"
    text = shorthand.read_text(encoding="utf-8")
    shorthand.write_text(text.replace("abbreviations: {}", "abbreviations: {earache: EA}"), encoding="utf-8")
    domain.quality("ears", records=40, seed=3)
    assert re.search(r"^  compact: earache missed, \d+ notes, such as '.*EA", capsys.readouterr().out, re.MULTILINE)


def test_a_domain_is_not_overwritten(elsewhere: Path) -> None:
    domain.new("ears")
    with pytest.raises(DomainError, match="exists already"):
        domain.new("ears")
