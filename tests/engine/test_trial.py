"""A trial runs in a clone with few records and small evaluations, shares the store, and changes nothing here."""

from pathlib import Path

import pytest
import yaml

from flows.commands import trial
from flows.lineage.recorded import OwnClone
from flows.runtime.workspace import STORE, workspace
from schemas.params import Params
from tests.support.imports import ROOT

SHIPPED = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))


def test_every_section_shrinks_to_the_records_and_nothing_grows() -> None:
    params = Params.model_validate(trial.small(SHIPPED, 10))
    assert (params.sample.records, params.doclens.notes, params.calibrate.notes, params.planted_errors.each) == (
        10,
    ) * 4
    assert params.note_qa.patients_by_notes == [1, 1, 1] and params.simulator_quality.records == 100
    assert (params.review.with_symptoms, params.review.without_symptoms) == (10, 10)
    assert params.roles == Params.model_validate(SHIPPED).roles
    large = Params.model_validate(trial.small(SHIPPED, 100_000))
    assert large.doclens.notes == 200 and large.note_qa.patients_by_notes == [10, 10, 10]
    assert SHIPPED["sample"] == {"records": 1000}


def test_the_clone_shares_the_store_and_estimates_the_whole_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[tuple[str, ...]] = []
    monkeypatch.setattr(OwnClone, "vignette", lambda self, *arguments: asked.append(arguments))
    before = (Path("params.yaml").read_bytes(), Path("dvc.lock").read_bytes())
    folder = tmp_path / "trial"
    (folder / ".vignette").mkdir(parents=True)
    monkeypatch.setattr(OwnClone, "__init__", lambda self, place: setattr(self, "folder", place))
    monkeypatch.setattr(OwnClone, "complete", lambda self: None)
    trial.main(records=3, folder=folder, yes=True)
    assert asked == [("repro", "--yes"), ("estimate", "--params", trial.ESTIMATED, "--pipeline", "dvc.yaml")]
    few, full = (yaml.safe_load((folder / name).read_text()) for name in ("params.yaml", trial.ESTIMATED))
    assert few["runtime"]["store"] == full["runtime"]["store"] == str((workspace() / STORE).resolve())
    assert (few["sample"], full["sample"]) == ({"records": 3}, {"records": 1000})
    assert (Path("params.yaml").read_bytes(), Path("dvc.lock").read_bytes()) == before
    assert "the whole run, 1,000 records" in capsys.readouterr().out
