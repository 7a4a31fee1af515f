"""Word lists are parsed as intended, and defects of a domain's words are lines with file and key."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from flows.repository.params import load_params
from flows.repository.pipeline import MAIN
from flows.runtime.domain import load_domain
from flows.runtime.rehearsal import run_small
from schemas.errors import DomainError
from tasks.domains.stubs import stub_files
from tasks.simulator.domain_check import simulator_defects
from tasks.simulator.reader.checks import about
from tasks.simulator.reader.findings import mentions
from tasks.simulator.writer.rules import grammar
from tests.support.cases import from_table
from tests.support.domain_copies import copied_domain, edit_file
from tests.support.imports import ROOT

PARAMS = load_params(ROOT / "params.yaml")
SHARED = (ROOT / "tasks" / "simulator").rglob("*.yaml")
LISTS = [*SHARED, *(f for f in (ROOT / "tasks" / "domains").glob("*/[lw]*/*.yaml") if f.stem != "plan")]


def has_truth_value(value: Any) -> bool:
    if isinstance(value, dict):
        value = [*value, *value.values()]
    return any(map(has_truth_value, value)) if isinstance(value, list) else isinstance(value, bool)


def test_no_word_is_read_as_a_truth_value() -> None:
    """YAML reads a bare ``no`` or ``on`` as false or true, which would put "False" into notes."""
    assert len(LISTS) > 20
    assert [file for file in LISTS if has_truth_value(yaml.safe_load(file.read_text(encoding="utf-8")))] == []


def stub(folder: Path) -> None:
    """Write the stubs of the network in the folder of a domain."""
    network = yaml.safe_load((folder / "network.yaml").read_text(encoding="utf-8"))
    for name, text in stub_files(folder.name, network["variables"]).items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


@pytest.mark.parametrize("name", ["respiratory", "urinary"])
def test_the_stubs_of_a_network_have_no_defect(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    network = (ROOT / "tasks" / "domains" / name / "network.yaml").read_text(encoding="utf-8")
    with copied_domain("_skeleton", "mine", tmp_path, monkeypatch) as folder:
        (folder / "network.yaml").write_text(network.replace(f"name: {name}", "name: mine"), encoding="utf-8")
        stub(folder)
        said = {"none": "no fever", "low": "a low fever", "high": "a high fever"}
        assert load_domain("mine").wording.claims == {"fever": said}
        constant = yaml.safe_load((folder / "transitions.yaml").read_text(encoding="utf-8"))["constant"]
        assert constant and "fever" not in constant
        assert simulator_defects() == []


@pytest.fixture
def ears(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The files of the skeleton's network. The shared words have "hearing loss" among the other complaints."""
    with copied_domain("_skeleton", "ears", tmp_path, monkeypatch) as folder:
        stub(folder)
        yield folder


@pytest.mark.usefixtures("ears")
def test_a_symptom_that_the_shared_words_know_as_another_complaint_is_described() -> None:
    note = "**History**\nThe patient reports hearing loss on the left. There is marked HL, as before."
    present = mentions(note, "hearing loss")  # "HL" is a shared word only
    assert {(f.category, f.polarity) for f in present} == {("symptom", "present")}
    assert "on the left" in about(note, "hearing loss")


@from_table
def test_a_defect_is_a_line_with_file_and_key(ears: Path, name: str, path: tuple, value: Any, message: str) -> None:
    def edit(loaded: Any) -> None:
        for key in path[:-1]:
            loaded = loaded[key]
        loaded[path[-1]] = value
        if value is None:
            del loaded[path[-1]]

    edit_file(ears, name, edit)
    found = [line for line in simulator_defects() if message in line]
    assert len(found) == 1 and found[0].startswith(str(ears))


def test_a_run_by_rules_that_lack_a_symptom_is_refused_before_it_begins(ears: Path, tmp_path: Path) -> None:
    edit_file(ears, "lexicon/symptoms", lambda entries: entries.pop(0))
    params = PARAMS.model_copy(update={"domain": "ears"})
    begun = run_small(MAIN, {"sample"}, params, params, tmp_path / "out")
    with pytest.raises(DomainError, match=r"symptoms\.yaml: no entry with the concept"):
        asyncio.run(anext(begun))


@pytest.mark.usefixtures("ears")
def test_a_rule_that_does_not_exist_is_named_with_its_folder() -> None:
    with pytest.raises(DomainError, match=r"writer: no rule earache\.nothing; add it"):
        grammar()["earache.nothing"]
