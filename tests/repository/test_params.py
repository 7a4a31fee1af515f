"""An invalid params file is refused, and the error names file, key, value and expectation."""

from pathlib import Path

import pytest
import yaml

from flows.repository.params import load_params, run_budget
from schemas.errors import ParamsError, VignetteError
from tests.support.cases import from_table, merged
from tests.support.imports import ROOT


def with_change(folder: Path, change: dict) -> Path:
    content = merged(yaml.safe_load((ROOT / "params.yaml").read_text()), change)
    file = folder / "mine.yaml"
    file.write_text(yaml.safe_dump(content))
    return file


@from_table
def test_a_bad_key_is_named(tmp_path: Path, change: dict, words: list[str]) -> None:
    file = with_change(tmp_path, change)
    with pytest.raises(VignetteError) as caught:
        load_params(file)
    for word in [str(file), *words]:
        assert word in str(caught.value)
    assert "params.yaml" not in str(caught.value), "it is not the file that was given"


@from_table
def test_a_file_without_params_is_refused_with_what_it_lacks(tmp_path: Path, content: str | None, words: str) -> None:
    file = tmp_path / "params.yaml"
    if content is not None:
        file.write_text(content)
    with pytest.raises(ParamsError, match=rf"params\.yaml.*{words}"):
        load_params(file)


def test_a_scheduled_rebuild_passes_its_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VIGNETTE_BUDGET", '{"ledger": "watch", "dollars": 2.5}')
    params = load_params(ROOT / "params.yaml")
    budget = run_budget(params)
    assert (budget.ledger, budget.dollars) == ("watch", 2.5)
    assert params.budget.ledger == "default", "the report shows params: they stay as the file has them"
    monkeypatch.setenv("VIGNETTE_BUDGET", "odd")
    with pytest.raises(ParamsError, match=r"VIGNETTE_BUDGET.* is no budget in JSON: .*; unset it"):
        run_budget(params)


@pytest.mark.parametrize("cron", ["0 3 * * *", "*/15 6-18 * * mon-fri", None])
def test_a_cron_of_five_fields_and_the_largest_seed_are_accepted(tmp_path: Path, cron: str | None) -> None:
    params = load_params(with_change(tmp_path, {"watch": {"cron": cron}, "seed": 2**32 - 1}))
    assert (params.watch.cron, params.seed) == (cron, 2**32 - 1)
