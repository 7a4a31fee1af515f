"""Two judges of the same cases: failed verdicts at their worst, and intervals that hold together."""

import pandas as pd
import pytest
from statsmodels.stats.proportion import proportion_confint

from tasks.statistics.intervals import ratio_interval
from tasks.statistics.paired_verdicts import Board, agreement_rows
from tasks.statistics.sign_flips import family_level


def votes(**by_judge: list[bool | None]) -> pd.DataFrame:
    return pd.DataFrame({name: pd.array(given, dtype="boolean") for name, given in by_judge.items()})


def board(truth: list[bool] | None = None, item: str = "all", **by_judge: list[bool | None]) -> Board:
    table = votes(**by_judge)
    return Board(item, table, pd.Series(table.index.astype(str)), None if truth is None else pd.Series(truth))


def rows_of(*boards: Board) -> pd.DataFrame:
    return pd.DataFrame(agreement_rows(boards)).set_index(["system", "condition", "item", "metric"])


def test_a_failed_verdict_never_makes_a_judge_better() -> None:
    truth = [True] * 40
    full = board(truth, a=[True] * 30 + [False] * 10, b=[True] * 20 + [False] * 20)
    lost = board(truth, a=[True] * 30 + [False] * 10, b=[True] * 20 + [None] * 20)  # it fails where it would be wrong
    before, now = (rows_of(one).loc[("a", "against b", "all", "accuracy_difference")] for one in (full, lost))
    assert before["value"] == 0.25 and before["unscored"] == 0 and now["unscored"] == 20
    assert now["low"] <= before["low"] <= before["high"] <= now["high"]
    p = rows_of(lost).loc[("a", "against b", "all", "p_value_adjusted"), "value"]
    assert p >= rows_of(full).loc[("a", "against b", "all", "p_value_adjusted"), "value"]


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
