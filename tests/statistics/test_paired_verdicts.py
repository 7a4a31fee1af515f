"""Two judges of the same cases: failed verdicts at their worst, and intervals that hold together."""

import pandas as pd
import pytest
from statsmodels.stats.proportion import proportion_confint

from tasks.statistics.intervals import ratio_interval
from tasks.statistics.paired_verdicts import Board, agreement_rows, compared
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


def test_verdicts_on_one_text_count_as_one() -> None:
    """Four verdicts that change together on each of eight texts tell no more than one on each."""
    before, now = pd.Series([1.0] * 8), pd.Series([0.0] * 6 + [1.0] * 2)
    texts = pd.Series(range(8))
    one = compared(before, now, texts)
    four = compared(*(values.repeat(4).reset_index(drop=True) for values in (before, now, texts)))
    assert (one.p, one.texts, one.n) == (2 / 2**6, 8, 8) and (four.texts, four.n) == (8, 32)
    assert (four.p, four.p_scored) == (one.p, one.p_scored)
    assert four.interval[1] <= one.interval[1] and one.interval[2] <= four.interval[2]
    apart = compared(*(values.repeat(4).reset_index(drop=True) for values in (before, now)), pd.Series(range(32)))
    assert apart.p < one.p / 1000 and apart.interval[2] < one.interval[2] - 0.1


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
