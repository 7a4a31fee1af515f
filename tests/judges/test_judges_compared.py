"""Judges are compared on the same planted claims, with their cost."""

import pandas as pd
import pytest

from schemas.params.llm import Price
from schemas.tables.metrics import METRICS
from tasks.judges.cases import Given, case_row, case_verdict, planted_table
from tasks.judges.rates import judge_rows
from tests.support.params import shipped


def cases(judge: str, judged: list[bool | None]) -> pd.DataFrame:
    kinds = ["own sentence"] * 2 + ["number changed"] * 2 + ["another person"] * 2
    rows = [
        case_verdict(str(at), "entailment", kind, "t", kind == "own sentence", one)
        for at, (kind, one) in enumerate(zip(kinds, judged, strict=True))
    ]
    return planted_table(rows, judge)


def test_errors_found_by_kind_and_the_cost_of_1000_claims() -> None:
    """The second judge finds no error and makes no call."""
    judged = {"good": [True, True, False, False, False, True], "lax": [True, True, True, True, True, None]}
    planted = pd.concat([cases(judge, said) for judge, said in judged.items()])
    spent = [("good", 6, 3, 2000, 1000), ("lax", 6, 0, 0, 0)]
    usage = pd.DataFrame(spent, columns=["judge", "claims", "calls", "prompt", "completion"])
    prices = {"good": Price(prompt=1.0, completion=2.0), "lax": None}
    found = METRICS.validate(judge_rows(planted, usage, prices, seed=1)).set_index(["system", "item", "metric"])
    value = found["value"]
    assert (value["good", "number changed", "sensitivity"], value["good", "another person", "sensitivity"]) == (1, 0.5)
    assert (value["good", "all", "precision_at_half"], value["lax", "all", "sensitivity"]) == (1, 0)
    assert found.loc[("lax", "another person", "sensitivity"), "unscored"] == 1
    assert value["lax", "all", "specificity"] == 1
    assert value["good", "all", "calls_per_1000_claims"] == pytest.approx(500)
    assert value["good", "all", "dollars_per_1000_claims"] == pytest.approx((2000 * 1 + 1000 * 2) / 1e6 / 6 * 1000)
    assert value["lax", "all", "dollars_per_1000_claims"] == 0


def test_a_card_of_another_size_has_as_many_cases_in_proportion_and_at_least_one() -> None:
    assert [Given({}, shipped(), size=size).scaled(10) for size in (1.0, 0.25, 2.0, 0.0)] == [10, 3, 20, 1]
    alone, paired = (case_row("c1", "t", "k", "d", "", "", True, None, pair=pair) for pair in ("", "c2"))
    assert (alone["call"], alone["pair"], paired["pair"]) == ("c1", "", "c2/")
