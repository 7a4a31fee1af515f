"""Two judges of the same cases: failed verdicts, intervals that hold together, and the power of pairs."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from schemas.tables.verdicts import verdict_table
from tasks.statistics.intervals import ratio_interval
from tasks.statistics.paired_verdicts import agreement, compared
from tasks.statistics.power import clustered_size, exact_power, paired_pairs
from tasks.statistics.sign_flips import family_level


def board(truth: list[bool] | None = None, item: str = "all", **by_judge: list[bool | None]) -> pd.DataFrame:
    """VERDICTS of judges on units of one text each."""
    about = {"system": "s", "condition": "c", "item": "all", "metric": item, "unit": "0", "text": ""}
    rows = [
        {**about, "judge": judge, "document": str(at), "value": one, "truth": truth and float(truth[at])}
        for judge, given in by_judge.items()
        for at, one in enumerate(given)
    ]
    return verdict_table(
        [{**row, "value": row["value"] if row["value"] is None else float(row["value"])} for row in rows], judge=""
    )


def rows_of(*boards: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame(agreement(pd.concat(boards), ["a", "b"])).set_index(["system", "condition", "item", "metric"])


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


def test_where_failed_verdicts_decide_the_direction_nothing_is_shown() -> None:
    before, failed = pd.Series([1.0] * 10 + [0.0] * 10), pd.Series([None] * 20, dtype="Float64")
    assert compared(before, failed, pd.Series(range(20))).p == 1
    rise, known = pd.Series([0.0] * 12), pd.Series([1.0] * 12)
    assert compared(rise, known, pd.Series(range(12)), one_sided=True).p == 1 / 2**12


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


def test_the_number_of_pairs_gives_the_power_in_simulated_exact_tests() -> None:
    pairs = paired_pairs(0.1, 0.2, power=0.8, level=0.05)
    random = np.random.default_rng(1)
    counts = random.multinomial(pairs, [0.15, 0.05, 0.8], size=4000)  # discordant 0.2, difference 0.1
    discordant, times = np.unique(counts[:, :2], axis=0, return_counts=True)
    p = [stats.binomtest(int(more), int(more + less)).pvalue for more, less in discordant]
    found = float(np.average(np.array(p) <= 0.05, weights=times))
    assert 0.79 < found < 0.83 and found == pytest.approx(exact_power(pairs, 0.1, 0.2, 0.05), abs=0.02)


def test_the_power_of_six_pairs_that_all_differ_by_hand() -> None:
    """Six of six alike (p 2/64) are significant, five of six (14/64) are not; the higher answer has probability 3/4."""
    assert exact_power(6, 0.5, 1.0, 0.05) == pytest.approx(0.75**6 + 0.25**6)
    assert exact_power(5, 0.5, 1.0, 0.05) == 0


def test_a_difference_above_the_share_of_discordant_pairs_is_refused() -> None:
    with pytest.raises(ValueError, match=r"at most 0\.05"):
        paired_pairs(0.1, 0.05, power=0.8, level=0.05)


def test_items_of_clusters_tell_as_much_as_independent_ones_over_the_design_effect() -> None:
    """100 items worth of information from 20 clusters at 0.1: n / (1 + (n / 20 - 1) 0.1) = 100 for n = 180."""
    assert clustered_size(100, 20, 0.1) == 180
    assert clustered_size(100, 20, 0.0) == 100
    assert clustered_size(100, 10, 0.1) is None, "10 clusters at 0.1 never tell more than 100 items do"
