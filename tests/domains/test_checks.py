"""A domain is checked as one: every contradiction between its files is one line with file and key."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from flows.rebuild.pipeline import stage_files
from flows.runtime.domain import load_domain, require_published_domain
from schemas.errors import DomainError
from tasks.domains import in_use
from tests.support.domain_copies import Edit, copied_domain, edit_file

BAD: dict[str, tuple[str, Edit, str]] = {
    "probability of 3": (
        "wording",
        lambda w: w["mention_probability"]["cough"].update(yes=3.0),
        "wording.yaml: key mention_probability.cough.yes: found 3.0; expected 0 to 1",
    ),
    "unknown node": ("wording", lambda w: w["conditions"].append("gout"), "key conditions: gout is no underlying cond"),
    "missing wording": ("wording", lambda w: w["labels"].pop("fever"), "key labels: nothing for the symptom or"),
    "two symptoms with one label": (
        "wording",
        lambda w: w["labels"].update(pain="Cough"),
        "key labels.pain: 'Cough' is the label of cough as well",
    ),
    "unknown cause": (
        "wording",
        lambda w: w["descriptors"]["cough"].update(gout=["dry"]),
        "key descriptors.cough: unknown variable 'gout'",
    ),
    "unknown value": ("wording", lambda w: w["claims"]["fever"].update(mild="a mild fever"), "unknown value 'mild'"),
    "level without words": ("wording", lambda w: w["claims"].pop("fever"), "needs a wording for none, low, high"),
    "unknown key": ("wording", lambda w: w.update(colour="red"), "key colour: Extra inputs are not permitted"),
    "no column": (
        "dataset",
        lambda d: d["columns"].pop("nasal"),
        "dataset.yaml: key columns: nothing for the variable",
    ),
    "broken network": ("network", lambda n: n["variables"]["pain"].update(type="sign"), "node pain, entry type"),
}


@pytest.fixture
def copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with copied_domain("respiratory", "mine", tmp_path, monkeypatch) as folder:
        yield folder


@pytest.mark.parametrize(("name", "change", "message"), BAD.values(), ids=BAD.keys())
def test_a_defect_is_one_line_with_file_and_key(copied: Path, name: str, change: Edit, message: str) -> None:
    edit_file(copied, name, change)
    with pytest.raises(DomainError) as caught:
        load_domain("mine")
    assert message in str(caught.value) and str(copied) in str(caught.value)


def test_a_symptom_without_mention_probabilities_is_one_line(copied: Path) -> None:
    edit_file(copied, "wording", lambda w: w["mention_probability"].pop("cough"))
    with pytest.raises(DomainError) as caught:
        load_domain("mine")
    assert str(caught.value).endswith("key mention_probability: nothing for the symptom cough of network.yaml")
    assert len(str(caught.value).splitlines()) == 1


def test_two_defects_are_two_lines(copied: Path) -> None:
    edit_file(copied, "wording", lambda w: (w["labels"].pop("fever"), w["conditions"].remove("asthma")))
    with pytest.raises(DomainError) as caught:
        load_domain("mine")
    assert len(str(caught.value).splitlines()) == 2


def test_an_unknown_domain_is_named_with_those_that_exist() -> None:
    with pytest.raises(DomainError, match=r"domain is 'dental'; expected one of .*respiratory"):
        in_use.use_domain("dental")


def test_stages_that_compare_with_printed_tables_are_refused_in_another_domain() -> None:
    pipeline = Path("reports/published/dvc.yaml")
    with in_use.in_domain("urinary"):
        with pytest.raises(DomainError, match=r"'urinary'.*SimSUM's printed tables.*set domain: respiratory"):
            require_published_domain(stage_files(pipeline, "baselines_published"), "urinary")
        require_published_domain(stage_files(pipeline, "doclens_published"), "urinary")
        require_published_domain(stage_files(Path("dvc.yaml"), "sample"), "urinary")
    require_published_domain(stage_files(pipeline, "baselines_published"), "respiratory")
