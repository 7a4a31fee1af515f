"""What an evaluation would cost is shown before anything is paid, and an expensive one has to be confirmed."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from flows.commands.parser import run
from flows.evaluation import estimate
from flows.evaluation.estimate import estimate_calls, guard
from flows.evaluation.judges import with_judges, with_roles
from flows.evaluation.work import asking_metrics, read_data
from flows.repository.params import YES
from flows.runtime.costs import Line
from schemas.errors import BudgetError
from schemas.params import Params
from schemas.params.llm import SIMULATOR, Price
from schemas.params.measures import Evaluate
from tasks.llm.costs import Estimate
from tasks.transport.probing import PROBE_CALLS
from tests.support.imports import ROOT
from tests.support.params import shipped

NOWHERE = "model@http://127.0.0.1:9/v1"  # the discard port: a call to it fails


def _data(folder: Path, rows: int) -> Evaluate:
    folder.mkdir(exist_ok=True)
    file = folder / "data.jsonl"
    days = [f"A dry cough for {number} days. No fever." for number in range(2, rows + 2)]
    found = [{"id": str(n), "source": text, "reference": text, "outputs": {"A": text}} for n, text in enumerate(days)]
    file.write_text("\n".join(map(json.dumps, found)))
    return Evaluate(data=str(file), metrics=["doclens"])


def _params(**budget: Any) -> Params:
    params = shipped(budget=budget, prices={"model": Price(prompt=1.0, completion=1.0)})
    return with_roles(params, {"judge": NOWHERE})


def test_the_rehearsal_is_scaled_by_the_length_of_all_texts(tmp_path: Path) -> None:
    few, many = (_data(tmp_path / name, rows) for name, rows in (("few", 6), ("many", 60)))
    one, other = (asyncio.run(estimate_calls(_params(), of, read_data(of)))[1] for of in (few, many))
    assert (other.stage, other.estimate.role, other.how) == ("evaluate", "judge", "rehearsed")
    assert other.estimate.calls == pytest.approx(10 * one.estimate.calls, rel=0.05)
    assert other.dollars == pytest.approx(10 * one.dollars, rel=0.05)


def test_several_judges_cost_what_each_costs_alone(tmp_path: Path) -> None:
    """The first of two lists and judges: its calls and tokens, schemas included, are those of a single judge."""
    chosen = _data(tmp_path, 3)
    data, params = read_data(chosen), shipped()
    probe, alone = asyncio.run(estimate_calls(with_roles(params, {"judge": NOWHERE}), chosen, data))
    loaded, judges = with_judges(params, [f"first={NOWHERE}", SIMULATOR], SIMULATOR, None)
    probed, first, second = asyncio.run(estimate_calls(loaded, chosen, data, judges))
    assert first.estimate == alone.estimate and second.estimate.prompt_tokens < alone.estimate.prompt_tokens
    assert probe == probed and (probe.stage, probe.estimate.calls, probe.model) == ("probe", PROBE_CALLS, "model")


def test_an_expensive_evaluation_needs_confirmation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = _data(tmp_path, 1)
    rehearsals = []

    async def reckoned(*_: object) -> list[Line]:
        rehearsals.append(1)
        return [Line("evaluate", Estimate("judge", 10, 1000, 1000), 2.5, "rehearsed", "model", False)]

    monkeypatch.setattr(estimate, "estimate_calls", reckoned)
    monkeypatch.delenv(YES, raising=False)
    check = guard(chosen, read_data(chosen), {})
    check(_params(confirm_above_dollars=3.0))
    check(_params())
    with pytest.raises(BudgetError, match=r"about 2.50 dollars.*to run it, use --yes; to see its calls, --dry-run"):
        check(_params(confirm_above_dollars=1.0))
    assert len(rehearsals) == 1


def test_unknown_calls_of_an_own_metric_need_confirmation_and_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def no_calls(*_: object) -> list[Line]:
        return []

    (tmp_path / "own.py").write_text("from vignette import metric\n\n@metric('tone')\ndef tone(texts, ask):\n    ...\n")
    chosen = _data(tmp_path, 1).model_copy(update={"own": [str(tmp_path / "own.py")]})
    monkeypatch.setattr(estimate, "estimate_calls", no_calls)
    monkeypatch.delenv(YES, raising=False)
    assert asking_metrics(chosen) == ["tone"]
    with pytest.raises(BudgetError, match="not known: the calls of metric tone, your own"):
        guard(chosen, read_data(chosen), {})(_params(confirm_above_dollars=3.0))


def test_dry_run_prints_calls_and_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _data(tmp_path, 2)
    monkeypatch.setenv("DVC_ROOT", str(ROOT))
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    assert run(["evaluate", "data.jsonl", "--judge", NOWHERE, "--metrics", "doclens", "--dry-run"]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert [line.split()[:3] for line in printed[1:3]] == [["probe", "judge", "model"], ["evaluate", "judge", "model"]]
    assert "no price" in printed[2]
    said = " ".join(printed).partition("no sum in dollars: ")[2]
    example = said.partition("tokens: prices: ")[2]
    assert "has no price of model; " in said and Price.model_validate(yaml.safe_load(example)["model"]).prompt > 0
    assert sorted(tmp_path.rglob("*")) == before
