"""Judges are compared on the same planted claims and requests, with their cost."""

import asyncio
from pathlib import Path

import pandas as pd
import pytest

from flows.commands.cli import run
from schemas.params.llm import Price
from schemas.tables.metrics import METRICS
from tasks.judges.judges_compared import (
    judge_rows,
    judges_text,
    usage_row,
)
from tasks.llm.costs import CountedAsk
from tasks.measures.doclens.evaluators import ClaimVerdicts, InstructionEvaluator, Question
from tests.support.scripted import ScriptedAsk


def cases(judge: str, judged: list[bool | None]) -> pd.DataFrame:
    kinds = ["own sentence"] * 2 + ["number changed"] * 2 + ["another person"] * 2
    return pd.DataFrame(
        {
            "document": [str(at) for at in range(6)],
            "kind": kinds,
            "truth": [True] * 2 + [False] * 4,
            "judged": pd.array(judged, dtype="boolean"),
            "provenance": judge,
        }
    )


@pytest.fixture
def table() -> pd.DataFrame:
    planted = pd.concat(
        [cases("good", [True, True, False, False, False, True]), cases("lax", [True, True, True, True, True, None])]
    )
    counted = CountedAsk(ScriptedAsk(lambda call: ValueError("unused")))
    counted.calls, counted.prompt_tokens, counted.completion_tokens = 3, 2000, 1000
    usage = pd.DataFrame([usage_row("good", 6, counted), usage_row("lax", 6)])
    price = Price(prompt=1.0, completion=2.0)
    return METRICS.validate(judge_rows(planted, usage, {"good": price, "lax": None}, seed=1))


def test_sensitivity_is_the_share_of_errors_found_by_kind(table: pd.DataFrame) -> None:
    found = table.set_index(["system", "item", "metric"])
    assert found.loc[("good", "number changed", "sensitivity"), "value"] == 1
    assert found.loc[("good", "another person", "sensitivity"), "value"] == 0.5
    assert found.loc[("good", "all", "precision_at_half"), "value"] == 1
    assert found.loc[("lax", "all", "sensitivity"), "value"] == 0
    assert found.loc[("lax", "another person", "sensitivity"), "unscored"] == 1
    assert found.loc[("lax", "all", "specificity"), "value"] == 1


def test_cost_is_of_1000_claims_and_nothing_for_a_judge_without_calls(table: pd.DataFrame) -> None:
    found = table.set_index(["system", "metric"])["value"]
    assert found["good", "calls_per_1000_claims"] == pytest.approx(500)
    assert found["good", "dollars_per_1000_claims"] == pytest.approx((2000 * 1 + 1000 * 2) / 1e6 / 6 * 1000)
    assert found["lax", "dollars_per_1000_claims"] == 0


def test_calls_are_counted_where_the_judge_makes_them() -> None:
    reply = ClaimVerdicts.model_validate({"verdicts": [{"claim": 1, "entailed": 1}, {"claim": 2, "entailed": 0}]})
    counted = CountedAsk(ScriptedAsk(lambda call: reply))
    judge = InstructionEvaluator(counted, "json")
    questions = [
        Question("a", "The patient coughs.", ("There is a cough.", "There is fever.")),
        Question("b", "", ("x",)),
    ]
    assert asyncio.run(judge(questions))[0].judgements == (True, False)
    assert counted.calls == 1 and counted.prompt_tokens > 20


def test_the_text_lists_judges_of_several_lineages_side_by_side(table: pd.DataFrame) -> None:
    text = judges_text({"a": table, "b": table})
    assert "a: good" in text and "b: lax" in text and "number changed" in text


def test_the_command_prints_the_judges_of_the_workspace(
    table: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / ".dvc").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DVC_ROOT", raising=False)
    assert run(["judges"]) == 1
    assert "judges.csv: no such file; run the stage that makes it (vignette repro)" in capsys.readouterr().err
    Path("reports/tables").mkdir(parents=True)
    table.to_csv("reports/tables/judges.csv", index=False)
    assert run(["judges"]) == 0
    assert {"good", "lax"} <= set(capsys.readouterr().out.split())
