"""A params file is read whole or not at all, and an error names file, key, finding and expectation."""

from pathlib import Path

import pytest
import yaml

from flows.engine.params import load_params, run_budget
from schemas.errors import ParamsError
from tests.support.imports import ROOT


def with_change(folder: Path, change: dict) -> Path:
    content = yaml.safe_load((ROOT / "params.yaml").read_text())
    for key, value in change.items():
        *outer, last = key.split(".")
        place = content
        for part in outer:
            place = place[part]
        place[last] = value
    file = folder / "params.yaml"
    file.write_text(yaml.safe_dump(content))
    return file


def test_the_shipped_params_are_valid() -> None:
    assert load_params(ROOT / "params.yaml").seed >= 0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"runtime.chunk_rowz": 5}, ["unknown key runtime.chunk_rowz"]),
        ({"seed": "seven"}, ["seed is 'seven'", "expected a valid integer"]),
        ({"seed": -1}, ["seed is -1", "greater than or equal to 0"]),
        ({"roles.judge.temperature": 3.0}, ["roles.judge.temperature is 3.0"]),
        ({"roles.painter": {}}, ["roles.painter"]),
    ],
)
def test_a_bad_key_is_named(tmp_path: Path, change: dict, words: list[str]) -> None:
    file = with_change(tmp_path, change)
    with pytest.raises(ParamsError) as caught:
        load_params(file)
    for word in [str(file), *words]:
        assert word in str(caught.value)


def test_a_missing_section_is_named(tmp_path: Path) -> None:
    file = tmp_path / "params.yaml"
    file.write_text("seed: 1\n")
    with pytest.raises(ParamsError, match="key roles is missing"):
        load_params(file)


@pytest.mark.parametrize("content", ["seed: [1", "- 1\n", ""])
def test_a_file_that_is_no_mapping_is_refused(tmp_path: Path, content: str) -> None:
    file = tmp_path / "params.yaml"
    file.write_text(content)
    with pytest.raises(ParamsError, match=r"params\.yaml"):
        load_params(file)


def test_a_missing_file_says_where_to_run(tmp_path: Path) -> None:
    with pytest.raises(ParamsError, match="repository's root"):
        load_params(tmp_path / "params.yaml")


def test_a_scheduled_rebuild_brings_its_own_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VIGNETTE_BUDGET", '{"ledger": "watch", "dollars": 2.5}')
    params = load_params(ROOT / "params.yaml")
    budget = run_budget(params)
    assert (budget.ledger, budget.dollars) == ("watch", 2.5)
    assert params.budget.ledger == "default", "the report shows params: they stay as the file has them"
