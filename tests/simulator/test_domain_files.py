"""Defects of a domain's words are lines with file and key, and a label that the shared words know as well is read."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from schemas.errors import DomainError
from tasks.simulator.annotator.mentions import described, mentions
from tasks.simulator.annotator.spans import find_spans
from tasks.simulator.domain_check import simulator_defects
from tasks.simulator.writer.rules import grammar
from tests.support.domain_copies import Edit, copied_domain, edit_file


@pytest.fixture
def ears(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy of the skeleton. The shared words have its symptom "hearing loss" among the other complaints."""
    with copied_domain("_skeleton", "ears", tmp_path, monkeypatch) as folder:
        yield folder


@pytest.mark.usefixtures("ears")
def test_a_symptom_that_the_shared_words_know_as_another_complaint_is_described() -> None:
    note = "**History**\nThe patient reports hearing loss on the left. There is marked HL, as before."
    present = mentions(note, "hearing loss")  # "HL" is a shared word only
    assert {(f.category, f.polarity) for f in present} == {("symptom", "present")}
    assert "on the left" in described(note, "hearing loss", present, "on the left")


BAD: dict[str, tuple[str, Edit, str]] = {
    "unknown kind": (
        "lexicon/symptoms",
        lambda s: s[0].update(kind="plain"),
        "key 0.kind: Input should",
    ),
    "no terms": ("lexicon/symptoms", lambda s: s[0].pop("terms"), "key 0.terms: Field required"),
    "nothing replaced": (
        "lexicon/reading",
        lambda r: r.update(replaces=["hearing change"]),
        "reading.yaml: key replaces: 'hearing change' is no concept",
    ),
    "modifier that is no text": (
        "lexicon/reading",
        lambda r: r.update(modifiers=[7]),
        "reading.yaml: key modifiers.0: Input should be a valid string",
    ),
    "unknown letter": (
        "writer/plan",
        lambda p: p["letters"].pop(next(iter(p["letters"]))),
        "plan.yaml: key letters: no letter e for [e+",
    ),
    "unknown rule": (
        "writer/symptoms",
        lambda s: s["earache"].update(absent="{nowhere}"),
        "writer: no rule nowhere, which earache uses",
    ),
}


@pytest.mark.parametrize(("name", "edit", "message"), BAD.values(), ids=BAD.keys())
def test_a_defect_is_a_line_with_file_and_key(ears: Path, name: str, edit: Edit, message: str) -> None:
    edit_file(ears, name, edit)
    found = [line for line in simulator_defects() if message in line]
    assert len(found) == 1 and found[0].startswith(str(ears))


@pytest.mark.usefixtures("ears")
def test_a_rule_that_does_not_exist_is_named_with_its_folder() -> None:
    with pytest.raises(DomainError, match=r"writer: no rule earache\.nothing; add it"):
        grammar()["earache.nothing"]


def test_modifiers_after_a_comma_are_the_domains(ears: Path) -> None:
    edit_file(ears, "lexicon/reading", lambda r: r.update(modifiers=["left more"]))
    note = "**History**\nThe patient has earache, left more than right, and a rash."
    (span,) = find_spans(note)
    assert "left more than right" in note[span.start : span.end]
