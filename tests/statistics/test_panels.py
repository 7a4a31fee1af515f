"""Panels of judges: majority and its ties, agreement, independent judges, ranks and families, worked out by hand."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.proportion import proportion_confint

from tasks.statistics.intervals import ratio_interval
from tasks.statistics.panels import (
    MEAN,
    PANEL,
    TOGETHER,
    WITHOUT,
    Board,
    agreement_rows,
    family_level,
    family_rows,
    independent_judges,
    majority,
    rank_rows,
)


def votes(**by_judge: list[bool | None]) -> pd.DataFrame:
    return pd.DataFrame({name: pd.array(given, dtype="boolean") for name, given in by_judge.items()})


def board(truth: list[bool] | None = None, item: str = "all", **by_judge: list[bool | None]) -> Board:
    table = votes(**by_judge)
    return Board(item, table, pd.Series(table.index.astype(str)), None if truth is None else pd.Series(truth))


def rows_of(*boards: Board) -> pd.DataFrame:
    return pd.DataFrame(agreement_rows(boards)).set_index(["system", "condition", "item", "metric"])


def test_a_panel_of_three_is_right_where_two_are() -> None:
    found = majority(votes(a=[True, True, False, False], b=[True, False, True, False], c=[False, True, True, False]))
    assert found.tolist() == [True, True, True, False]


def test_a_tie_and_a_case_that_a_failed_verdict_decides_have_no_majority() -> None:
    assert majority(votes(a=[True, True], b=[False, True])).tolist() == [pd.NA, True]
    three = majority(votes(a=[True, True, None], b=[False, True, None], c=[None, None, True]))
    assert three.tolist() == [pd.NA, True, pd.NA]


def test_a_failed_verdict_never_makes_a_judge_better() -> None:
    truth = [True] * 40
    full = board(truth, a=[True] * 30 + [False] * 10, b=[True] * 20 + [False] * 20)
    lost = board(truth, a=[True] * 30 + [False] * 10, b=[True] * 20 + [None] * 20)  # it fails where it would be wrong
    before, now = (rows_of(one).loc[("a", "against b", "all", "accuracy_difference")] for one in (full, lost))
    assert before["value"] == 0.25 and before["unscored"] == 0 and now["unscored"] == 20
    assert now["low"] <= before["low"] <= before["high"] <= now["high"]
    p = rows_of(lost).loc[("a", "against b", "all", "p_value_adjusted"), "value"]
    assert p >= rows_of(full).loc[("a", "against b", "all", "p_value_adjusted"), "value"]


def test_the_majority_is_compared_with_its_best_member_and_beats_it_where_errors_are_apart() -> None:
    size = 60
    errs = {name: [True if at % 3 != place else at % 2 == 0 for at in range(size)] for place, name in enumerate("abc")}
    found = rows_of(board([True] * size, **errs))
    (row,) = [key for key in found.index if key[0] == PANEL and key[3] == "accuracy_difference"]
    assert found.loc[row, "value"] == pytest.approx(1 - 50 / 60) and found.loc[row, "low"] > 0
    worth = found.loc[(PANEL, TOGETHER, "all", "independent_judges"), "value"]
    assert worth == 3  # at most as many as there are, though their errors exclude each other
    assert found.loc[(PANEL, TOGETHER, "all", "split"), "value"] == 0.5


def test_a_judge_that_fails_most_calls_is_not_the_best_member() -> None:
    few = [True] * 3 + [None] * 17
    found = rows_of(board([True] * 20, a=[True] * 15 + [False] * 5, b=[True] * 12 + [False] * 8, c=few))
    assert (PANEL, "against a", "all", "accuracy_difference") in found.index


def test_correlated_judges_are_worth_fewer_than_they_are() -> None:
    random = np.random.default_rng(1)
    own, shared = random.random((20_000, 3)) < 0.2, random.random((20_000, 1)) < 0.2
    together = np.where(random.random((20_000, 3)) < 0.5, shared, own)  # correlation 0.25
    assert independent_judges(own) == pytest.approx(3, abs=0.1)
    assert independent_judges(together) == pytest.approx(3 / (1 + 2 * 0.25), abs=0.1)
    assert independent_judges(np.repeat(shared, 3, axis=1)) == pytest.approx(1)
    assert np.isnan(independent_judges(np.zeros((5, 2))))


def test_intervals_of_differences_hold_together() -> None:
    alone = rows_of(board(a=[True] * 20, b=[True] * 10 + [False] * 10))
    boards = [board(item=str(n), a=[True] * 20, b=[True] * 10 + [False] * 10) for n in range(5)]
    key = ("a", "against b")
    own, of_five = alone.loc[(*key, "all", "yes_difference")], rows_of(*boards).loc[(*key, "3", "yes_difference")]
    assert own["value"] == of_five["value"] == 0.5
    assert of_five["low"] < own["low"] and of_five["high"] > own["high"]
    share = ratio_interval([1] * 12, [1] * 12, level=family_level(5))
    assert share[1:] == pytest.approx(proportion_confint(12, 12, 0.01, method="beta"))
    assert family_level(1) == 0.95 and family_level(5) == pytest.approx(0.99)


def scores(values: dict[tuple[str, str], float], documents: int = 12, item: str = "claim_recall") -> pd.DataFrame:
    """A score by judge and system that varies alike over the documents."""
    rows = [
        {"judge": judge, "system": system, "document": f"d{at}", "item": item, "value": value + 0.01 * (at % 3)}
        for (judge, system), value in values.items()
        for at in range(documents)
    ]
    return pd.DataFrame(rows)


def test_systems_are_ranked_by_each_judge_and_without_each() -> None:
    by = {"a": (0.9, 0.5), "b": (0.8, 0.6), "c": (0.1, 0.6)}
    table = scores({(j, s): value for j, pair in by.items() for s, value in zip(("s", "t"), pair, strict=True)})
    found = pd.DataFrame(rank_rows(table)).set_index(["condition", "system", "metric"])["value"]
    assert [found[judge, "s", "rank"] for judge in "abc"] == [1, 1, 2]
    assert found[MEAN, "s", "rank"] == 1 and found[WITHOUT.format("a"), "s", "rank"] == 2
    assert found[MEAN, "s", "ranked_by"] == pytest.approx(0.61)
    turned = pd.DataFrame(rank_rows(table, ["claim_recall"])).set_index(["condition", "system", "metric"])["value"]
    assert turned[MEAN, "s", "rank"] == 2


def test_documents_that_a_judge_failed_on_are_ranked_by_nobody() -> None:
    table = scores(dict.fromkeys(product("ab", "st"), 0.5))
    lost = table[~(table["judge"].eq("b") & table["document"].eq("d0") & table["system"].eq("t"))]
    found = pd.DataFrame(rank_rows(lost))
    assert set(found["n"]) == {11} and set(found["unscored"]) == {1}
    assert set(found.loc[found["metric"] == "rank", "value"]) == {1.0}  # equals share a rank


def test_the_gain_from_judges_of_the_same_family_is_told_from_lenience_and_quality() -> None:
    lenient, quality, gain = {"a": 0.1, "b": 0.0, "c": -0.1}, {"s": 0.6, "t": 0.4}, 0.15
    families = {"a": "one", "s": "one", "b": "two", "t": "two"}
    values = {
        (j, s): lenient[j] + quality[s] + gain * (families.get(j) == families[s]) for j, s in product("abc", "st")
    }
    (row,) = family_rows(scores(values), families)
    assert row["value"] == pytest.approx(gain) and row["low"] < gain < row["high"] and row["n"] == 12
    assert family_rows(scores(values), {}) == []
    assert family_rows(scores(values), dict.fromkeys("abcst", "one")) == []
