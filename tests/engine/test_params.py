"""An invalid params file is refused, and the error names file, key, value and expectation."""

from pathlib import Path

import pytest
import yaml

from flows.runtime.params import load_params, run_budget
from schemas.errors import ParamsError, VignetteError
from tests.support.cases import from_table
from tests.support.imports import ROOT


def with_change(folder: Path, change: dict) -> Path:
    content = yaml.safe_load((ROOT / "params.yaml").read_text())
    for key, value in change.items():
        *outer, last = key.split(".")
        place = content
        for part in outer:
            place = place[part]
        place[last] = value
    file = folder / "mine.yaml"
    file.write_text(yaml.safe_dump(content))
    return file


def test_the_shipped_params_are_valid() -> None:
    assert load_params(ROOT / "params.yaml").seed >= 0


@from_table
def test_a_bad_key_is_named(tmp_path: Path, change: dict, words: list[str]) -> None:
    file = with_change(tmp_path, change)
    with pytest.raises(VignetteError) as caught:
        load_params(file)
    for word in [str(file), *words]:
        assert word in str(caught.value)
    assert "params.yaml" not in str(caught.value), "it is not the file that was given"


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


def test_the_error_on_a_missing_params_file_names_the_folder_to_run_in(tmp_path: Path) -> None:
    with pytest.raises(ParamsError, match="repository's root"):
        load_params(tmp_path / "params.yaml")


def test_a_scheduled_rebuild_passes_its_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VIGNETTE_BUDGET", '{"ledger": "watch", "dollars": 2.5}')
    params = load_params(ROOT / "params.yaml")
    budget = run_budget(params)
    assert (budget.ledger, budget.dollars) == ("watch", 2.5)
    assert params.budget.ledger == "default", "the report shows params: they stay as the file has them"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("seed: 7\nsample: {records: 5}\nseed: 8\n", "line 3: key seed is a duplicate of line 1"),
        ("seed: 7\nsample:\n  records: 5\n  records: 6\n", "line 4: key records is a duplicate of line 3"),
    ],
)
def test_a_duplicate_key_is_refused_with_its_line(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "params.yaml"
    file.write_text(text)
    with pytest.raises(ParamsError, match=words):
        load_params(file)


@pytest.mark.parametrize("cron", ["every day", "61 * * * *", "0 3 * * * *", "@daily"])
def test_a_bad_cron_is_refused_with_the_expected_form(tmp_path: Path, cron: str) -> None:
    with pytest.raises(ParamsError) as error:
        load_params(with_change(tmp_path, {"watch.cron": cron}))
    assert f"watch.cron is '{cron}'; expected five fields" in str(error.value)


@pytest.mark.parametrize("cron", ["0 3 * * *", "*/15 6-18 * * mon-fri", None])
def test_a_cron_of_five_fields_is_accepted(tmp_path: Path, cron: str | None) -> None:
    assert load_params(with_change(tmp_path, {"watch.cron": cron})).watch.cron == cron


def test_a_seed_beyond_the_generators_range_is_refused_with_the_range(tmp_path: Path) -> None:
    with pytest.raises(ParamsError, match=r"seed is 9{23}; expected .*less than or equal to 4294967295"):
        load_params(with_change(tmp_path, {"seed": 99999999999999999999999}))
    assert load_params(with_change(tmp_path, {"seed": 2**32 - 1})).seed == 2**32 - 1
