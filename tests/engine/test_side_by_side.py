"""Stages run side by side, in an order that dvc.yaml allows, and a failure starts nothing more."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from flows.commands.repro import stages_at_once
from flows.engine import side_by_side
from flows.engine.confirmation import YES
from flows.engine.params import load_params
from flows.engine.pipeline import needed_by
from flows.engine.side_by_side import run_stages
from tests.support.imports import ROOT

CHAINS = {"a1": [], "a2": ["a1"], "a3": ["a2"], "b1": [], "b2": ["b1"], "joined": ["a3", "b2"]}


@pytest.fixture
def pipeline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A dvc.yaml of two chains and a stage that needs both; its stages only log."""
    stages = {
        name: {"cmd": "true", "deps": [f"data/{other}" for other in needs], "outs": [f"data/{name}"]}
        for name, needs in CHAINS.items()
    }
    (tmp_path / "dvc.yaml").write_text(yaml.safe_dump({"stages": stages}, sort_keys=False))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(side_by_side, "STAGE_RUNNER", "tests.support.stage_log")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    return Path("dvc.yaml")


def begun(log: list[str]) -> list[str]:
    return [line.removeprefix("begin ") for line in log if line.startswith("begin ")]


def test_a_stage_waits_for_what_it_needs_and_for_nothing_else(pipeline: Path) -> None:
    Path("meeting").write_text("a2 b1")  # ends only if both run at once
    assert run_stages(pipeline, list(CHAINS), {}, at_once=2) == 0
    log = Path("log").read_text().splitlines()
    assert sorted(begun(log)) == sorted(CHAINS)
    for name, needs in CHAINS.items():
        assert all(log.index(f"end {other}") < log.index(f"begin {name}") for other in needs)


def test_one_at_a_time_takes_the_longest_chain_first(pipeline: Path) -> None:
    assert run_stages(pipeline, list(CHAINS), {}, at_once=1) == 0
    assert begun(Path("log").read_text().splitlines()) == ["a1", "a2", "b1", "a3", "b2", "joined"]


def test_after_a_failure_no_other_stage_begins(pipeline: Path) -> None:
    Path("fails").write_text("a1")
    assert run_stages(pipeline, list(CHAINS), {}, at_once=1) == 1
    assert Path("log").read_text().splitlines() == ["begin a1", "end a1"]


def test_after_a_failure_a_running_stage_is_waited_for(pipeline: Path) -> None:
    Path("meeting").write_text("a1 b1")
    Path("fails").write_text("a1")
    assert run_stages(pipeline, list(CHAINS), {}, at_once=2) == 1
    log = Path("log").read_text().splitlines()
    assert "end b1" in log
    assert not {"begin a2", "begin joined"} & set(log)


def test_stages_that_need_not_run_are_not_waited_for(pipeline: Path) -> None:
    assert run_stages(pipeline, ["a3", "joined"], {}, at_once=2) == 0
    assert Path("log").read_text().splitlines() == ["begin a3", "end a3", "begin joined", "end joined"]


@pytest.mark.parametrize("dep", ["data/made/table.csv", "data/made", "data/made/table.csv/part"])
def test_a_stage_needs_the_maker_of_a_file_and_of_a_folder_around_it(dep: str) -> None:
    stages: dict[str, Any] = {"maker": {"outs": [{"data/made/table.csv": {"cache": False}}]}, "user": {"deps": [dep]}}
    assert needed_by(stages) == {"maker": set(), "user": {"maker"}}


def test_stages_whose_cost_must_be_confirmed_run_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(YES, raising=False)
    params = load_params(ROOT / "params.yaml")
    asks = params.model_copy(update={"budget": params.budget.model_copy(update={"confirm_above_dollars": 1.0})})
    assert (stages_at_once(params), stages_at_once(asks)) == (2, 1)
    monkeypatch.setenv(YES, "1")
    assert stages_at_once(asks) == 2
