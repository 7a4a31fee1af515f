"""The rules read every domain that ships: its first wording almost without error, a second one with errors."""

from pathlib import Path
from shutil import copytree

import pytest

from flows.commands import domain
from flows.engine.domain_quality import domain_quality
from schemas.errors import DomainError
from tasks.domains import in_use


def test_the_rules_read_the_urinary_domain_and_a_second_wording_less_well() -> None:
    with in_use.in_domain("urinary"):
        found = domain_quality(120, 3)
    first, second = found["first"], found["second"]
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
    assert found["symptom F1 (normal)"] > 0.9 and found["check recall"] > 0.8


def test_a_symptom_without_words_is_named(elsewhere: Path) -> None:
    domain.new("ears")
    rules = elsewhere / "ears" / "writer" / "symptoms.yaml"
    rules.write_text(rules.read_text(encoding="utf-8").replace("  denied:", "  refused:"), encoding="utf-8")
    with pytest.raises(DomainError, match=r"no rule earache\.denied"):
        domain.check("ears")


def test_a_domain_is_not_overwritten(elsewhere: Path) -> None:
    domain.new("ears")
    with pytest.raises(DomainError, match="exists already"):
        domain.new("ears")
