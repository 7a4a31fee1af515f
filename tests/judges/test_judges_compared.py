"""Judges are compared on the same planted claims, with their cost."""

import asyncio

import pandas as pd
import pytest

from schemas.params.llm import Price
from schemas.tables.metrics import METRICS
from tasks.judges.cases import case_verdict, planted_table
from tasks.judges.judges_compared import judge_rows, usage_row
from tasks.llm.costs import CountedAsk
from tasks.measures.doclens.evaluators import ClaimVerdicts, InstructionEvaluator, Question
from tests.support.scripted import ScriptedAsk


def cases(judge: str, judged: list[bool | None]) -> pd.DataFrame:
    kinds = ["own sentence"] * 2 + ["number changed"] * 2 + ["another person"] * 2
    rows = [
        case_verdict(str(at), "entailment", kind, "t", kind == "own sentence", one)
        for at, (kind, one) in enumerate(zip(kinds, judged, strict=True))
    ]
    return planted_table(rows, judge)


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
