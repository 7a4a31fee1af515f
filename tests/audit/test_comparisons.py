"""Cards compared: judges by name, exact p-values by kind, and failed verdicts at their worst."""

import re

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest

from tasks.audit.card import card_table, change_table, findings, not_found
from tasks.audit.cases import CONFIDENT, HIDDEN
from tasks.audit.comparisons import ANSWERED, KIND_LEVEL, against, change_lines, fewest_texts
from tasks.audit.page import _against, marked, rate_tables
from tasks.reporting.show import terminal
from tasks.statistics.paired_verdicts import agreement, compared
from tasks.statistics.sign_flips import flip_p
from tests.support.card_verdicts import card_verdicts


def verdicts(judged: list[bool | None], judge: str = "j", factor: str = "", kind: str = "k") -> pd.DataFrame:
    """Verdicts on cases of one text each, whose answer is yes."""
    known = {"judge": judge, "task": "claims", "kind": kind, "text": "t", "place": 0, "factor": factor, "truth": True}
    rows = [{**known, "case": f"{kind}{n}", "document": f"d{n}", "judged": one} for n, one in enumerate(judged)]
    return card_verdicts(rows)


RATE = "sensitivity"
"""The only rate of cases whose answer is yes."""


def _of(table: pd.DataFrame, item: str) -> pd.DataFrame:
    return table[table["item"] == item]


def test_a_card_is_compared_with_an_earlier_one_by_kind() -> None:
    before = pd.concat([verdicts([True] * 30), verdicts([True] * 30, kind="other")])
    now = pd.concat([verdicts([n >= 12 for n in range(30)]), verdicts([True] * 30, kind="other")])
    table = against(now, before).set_index("item")
    assert table.loc["k", "before"] == 1 and table.loc["k", "now"] == 0.6 and table.loc["k", "high"] < 0
    assert table.loc["k", "changed"] and table.loc[RATE, "changed"] and not table.loc["other", "changed"]
    worse, other = change_lines(table.reset_index())
    assert "worse than the earlier card: j, claims, k: 1.000 -> 0.600, n 30" in worse and other == []
    same = against(before, before)
    assert not same["changed"].any()
    said = "not worse than the earlier card beyond chance: 1 rate and 3 further figures compared"
    assert change_lines(same) == ([], [said]), "sensitivity; the share with a verdict, and two kinds"
    with pytest.raises(ValueError, match="no case in common"):
        against(now, before.assign(unit="other" + before["unit"]))


def test_a_judge_without_any_verdict_is_compared() -> None:
    table = against(verdicts([None] * 30), verdicts([True] * 30))
    assert np.isnan(table.set_index("item").loc[RATE, "now"])
    assert "nan" not in terminal(_against(table.to_dict("records")).tables[0])
    assert change_lines(table)[0] == ["worse than the earlier card: j, claims, has a verdict: 1.000 -> 0.000, n 30"]


def test_a_change_is_that_of_the_cases_that_both_cards_have_verdicts_of() -> None:
    """Of 40 cases 8 that were wrong before have no verdict now: of the 32 that have one, all are right in both."""
    before, now = verdicts([True] * 32 + [False] * 8), verdicts([True] * 32 + [None] * 8)
    rate = against(now, before).set_index("item").loc[RATE]
    assert (rate["before"], rate["now"], rate["n"], rate["unscored"]) == (1, 1, 32, 8)


def test_too_few_common_cases_for_any_change_to_be_told_are_no_success() -> None:
    few = verdicts([True] * 3)
    with pytest.raises(ValueError, match=r"3 of 40 cases are in both cards; .* from 6 .*make both with"):
        against(verdicts([True] * 40), few)
    table = against(pd.concat([verdicts([True] * 40), verdicts([True] * 3, kind="rare")]), verdicts([True] * 40))
    assert not table["few"].any(), "cases of one card alone are not compared"
    both = pd.concat([verdicts([True] * 40), verdicts([True] * 3, kind="rare")])
    table = against(both, both)
    assert table.loc[table["few"], "item"].tolist() == ["rare"]
    said = ["not worse than the earlier card beyond chance: 1 rate and 2 further figures compared"]
    said.append("too few texts to tell: 1 figure")
    assert change_lines(table) == ([], said)
    other = pd.concat([both, verdicts([True] * 3).assign(metric="answers")])
    assert change_lines(against(other, other))[1][-1] == "too few texts to tell: 4 figures (answers as a whole)"
    with pytest.raises(ValueError, match=r"3 of 3 cases are in both cards; .* from 6 texts.*; make both of more texts"):
        against(pd.concat([few.assign(judge=name) for name in "ab"]), pd.concat([few.assign(judge=n) for n in "ab"]))


def test_a_kind_of_few_texts_that_changed_is_told_though_it_takes_more_for_all_to_be() -> None:
    """Twelve texts of which all turn have p 2 / 2^12, and 4 figures share the level."""
    before = pd.concat([verdicts([True] * 40), verdicts([True] * 12, kind="rare"), verdicts([True] * 12, kind="other")])
    now = pd.concat([verdicts([True] * 40), verdicts([False] * 12, kind="rare"), verdicts([True] * 12, kind="other")])
    table = against(now, before).set_index("item")
    assert not (table["few"] & table["changed"]).any()


def test_rates_of_too_few_texts_to_be_told_do_not_weaken_those_of_enough() -> None:
    """Eight texts that all turn have p 2 / 2^8, which times 7 rates would be more than 5%, and times 3 is not."""
    tasks = [verdicts([True] * n).assign(metric=f"task {at}") for at, n in enumerate((8, 8, 8, 3, 3, 4, 4))]
    before = pd.concat(tasks)
    now = before.assign(value=before["value"].where(before["metric"] != "task 0", 0.0))
    table = against(now, before).query("primary").set_index("task")
    assert table["changed"].tolist() == [True] + [False] * 6 and table["few"].sum() == 4
    assert table.loc["task 0", "p"] == pytest.approx(3 * 2 / 2**8) and table.loc[table["few"], "p"].isna().all()


def test_a_kind_without_a_verdict_does_not_keep_the_others_from_being_told() -> None:
    before = pd.concat([verdicts([True] * 30), verdicts([True] * 30, kind="silent")])
    now = pd.concat([verdicts([n >= 12 for n in range(30)]), verdicts([None] * 30, kind="silent")])
    table = against(now, before)
    assert _of(table, "silent")["now"].isna().all()
    assert any("k: 1.000 -> 0.600" in line for line in change_lines(table)[0])


def test_p_values_of_independent_cases_are_those_of_mcnemars_exact_test() -> None:
    lost, gained = 9, 3
    differences = [-1] * lost + [1] * gained + [0] * 20
    exact = binomtest(lost, lost + gained, 0.5).pvalue
    assert flip_p(differences, np.arange(len(differences))) == pytest.approx(exact)
    with pytest.raises(ValueError, match="not whole numbers"):
        flip_p([0.5, 1.0], [0, 1])


def test_a_rate_counts_the_texts_of_its_own_cases_and_one_of_one_text_has_no_interval() -> None:
    no = verdicts([False] * 4).assign(truth=False)
    both = pd.concat([verdicts([True] * 9), no], ignore_index=True).assign(unit=[str(n) for n in range(13)])
    found = card_table(both, seed=1).set_index("metric")["value"]
    assert (found["sensitivity_texts"], found["specificity_texts"]) == (9, 4)
    (table,) = rate_tables(card_table(verdicts([True, False, True]).assign(document="d"), seed=1))
    assert "66.7% (no interval) n 3" in terminal(table)


def test_judges_of_two_cards_are_paired_by_name() -> None:
    good, bad = [True] * 20, [False] * 20
    both = pd.concat([verdicts(good, "a"), verdicts(bad, "b")])
    table = against(both, both)
    assert len(table) == 2 * 3 and not table["changed"].any() and set(table["judge"]) == {"a", "b"}
    successor = against(verdicts(bad, "new"), verdicts(good, "old"))
    assert successor.loc[successor["item"] == RATE, "changed"].all(), "one judge each: a model and its successor"
    with pytest.raises(ValueError, match="no judge in common"):
        against(both, verdicts(good, "c"))


def test_failed_verdicts_count_at_their_worst_and_are_named() -> None:
    """Of 40 wrong answers before, 12 failed later: they may be as wrong as before."""
    before = verdicts([n >= 40 for n in range(100)])
    now = verdicts([None if n < 12 else n >= 28 for n in range(100)])
    (row,) = _of(against(now, before), RATE).to_dict("records")
    assert (row["unscored"], row["n"]) == (12, 88) and row["changed"], "12 found rightly stay a gain at the worst"
    silent = verdicts([None if n < 12 else n >= 40 for n in range(100)])
    (row,) = _of(against(silent, before), RATE).to_dict("records")
    assert not row["changed"] and row["low"] < 0 < row["high"], "a judge that fails on its own errors has not improved"
    hidden = verdicts([None if n < 12 else n >= 30 for n in range(100)])
    weaker = verdicts([n >= 40 or n > 80 for n in range(100)])
    lost = verdicts([None if 50 <= n < 62 else n >= 30 for n in range(100)])
    table = against(lost, weaker)
    assert _of(table, RATE)["undecided"].all()
    assert any("failed cases decide (n 12)" in line for line in change_lines(table)[1])
    assert _of(against(hidden, before), ANSWERED)["changed"].all(), "12 of 100 fail that did not"


def test_a_failing_judge_is_compared_with_another_at_its_worst() -> None:
    steady = verdicts([n % 10 != 0 for n in range(60)], "steady")
    silent = verdicts([None if n % 10 == 0 else True for n in range(60)], "silent")
    rows = pd.DataFrame(agreement(pd.concat([steady, silent]), ["silent", "steady"]))
    difference = rows[rows["metric"] == "accuracy_difference"].iloc[0]
    assert difference["unscored"] == 6 and difference["low"] <= 0 and difference["high"] >= 0.1


def test_the_fewest_texts_are_those_with_which_a_loss_on_each_can_be_found() -> None:
    for tests in (1, 5, 13):
        least = fewest_texts(tests)
        assert tests / 2**least <= 0.05 < tests / 2 ** (least - 1)
        assert fewest_texts(tests, KIND_LEVEL) > least
    ones, zeros = pd.Series([1.0] * 9), pd.Series([0.0] * 9)
    assert compared(zeros, ones, pd.Series(range(9)), one_sided=True).p == 1 / 2**9


def test_the_lack_of_a_finding_says_what_was_tested() -> None:
    plain = verdicts([True] * 20)
    assert not_found(card_table(plain, seed=1)) == [
        "j: whether what should not matter changes the answers was not tested"
    ]
    few = pd.concat([plain.head(2), verdicts([True] * 2, factor=CONFIDENT)])
    assert not_found(card_table(few, seed=1)) == [
        "j: too few texts have both verdicts to tell whether 1 of 1 changes matter: 2, where 5 are needed"
    ]
    failed = pd.concat([plain, verdicts([True] + [None] * 19, factor=CONFIDENT)])
    assert "changes matter: 1, where 5" in not_found(card_table(failed, seed=1))[0], "19 of 20 verdicts failed"
    enough = pd.concat([plain, verdicts([True] * 20, factor=CONFIDENT)])
    (said,) = not_found(card := card_table(enough, seed=1))
    high = {name: card.loc[card["metric"] == name, "high"].item() for name in ("loss_of_accuracy", "flipped")}
    assert said.startswith("j: 1 of 1 changes that should not matter") and 0 < high["flipped"] < 1
    limits = rf"none costs more than {100 * high['loss_of_accuracy']:.1f} points or changes more than"
    changed = rf"{100 * high['flipped']:.1f}% of answers, failed ones counted as changed"
    assert re.search(rf"{limits} {changed} \(seen: at most 0.0 points and 0%", said)


def test_a_loss_that_failed_verdicts_may_undo_is_no_finding() -> None:
    plain = verdicts([True] * 10 + [False] * 5)
    obeyed = verdicts([False] * 6 + [True] * 4 + [None] * 5, factor=HIDDEN[0])
    card = card_table(pd.concat([plain, obeyed]), seed=1)
    assert findings(card) == []
    assert any("cannot be told, failed cases decide (n 5)" in line for line in not_found(card))
    lost = card_table(pd.concat([plain, verdicts([True] * 10 + [None] * 5, factor=CONFIDENT)]), seed=1)
    (row,) = change_table(lost).to_dict("records")
    assert row["flipped"] == 0 and row["flipped_high"] > 1 / 3, "each of those that failed may have changed"


@pytest.mark.parametrize("words", [60, 61])
def test_words_that_differ_are_marked_and_thirty_are_shown_at_either_end_of_what_is_the_same(words: int) -> None:
    same = [f"w{n} " for n in range(words)]
    shown = "".join(same) if words == 60 else "".join(same[:30]) + " […] " + "".join(same[-30:])
    first, second = marked("".join(same) + "fever", "".join(same) + "<cough>")
    assert (first, second) == (f"{shown}<mark>fever</mark>", f"{shown}<mark>&lt;cough&gt;</mark>")
    assert marked("No fever", "No fever today") == ("No fever", "No fever<mark> today</mark>")
