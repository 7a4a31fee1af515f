"""Conclusions hold, do not hold, or cannot be told, by the interval of the difference that decides them."""

import math
from pathlib import Path

import pandas as pd
import pytest

from flows.repository.pipeline import read_pipeline
from schemas.tables.metrics import BASES
from tasks.papers.conclusions import (
    FAILS,
    HOLDS,
    UNTOLD,
    conclusions,
    counts_line,
    larger,
    shown,
    side,
    stated,
    verdict_of,
)
from tasks.papers.printed import items, papers
from tasks.reporting.papers_page import conclusions_section
from tasks.statistics.printed import share_of_pairs
from tests.papers.page import concluded, conclusions_text

COLUMNS = ["system", "condition", "item", "metric", "value", "low", "high", "n"]
MODEL = "judge: m"


@pytest.mark.parametrize(
    ("test", "margin", "low", "high", "verdict"),
    [
        ("more", 0, 0.01, 0.2, HOLDS),
        ("more", 0, -0.2, -0.01, FAILS),
        ("more", 0, -0.1, 0.1, UNTOLD),
        ("pairs", 0, 0.01, 0.2, HOLDS),
        ("pairs", 0, -0.2, -0.01, FAILS),
        ("as much", 0.05, -0.04, 0.1, HOLDS),
        ("as much", 0.05, -0.2, -0.06, FAILS),
        ("as much", 0.05, -0.2, 0.1, UNTOLD),
        ("same", 0.05, -0.04, 0.04, HOLDS),
        ("same", 0.05, 0.06, 0.2, FAILS),
        ("same", 0.05, -0.2, 0.2, UNTOLD),
        ("not significant", 0, -0.2, 0.1, HOLDS),
        ("not significant", 0, -0.86, -0.24, FAILS),
        ("more", 0, math.nan, math.nan, UNTOLD),
    ],
)
def test_verdicts_follow_from_the_interval(test: str, margin: float, low: float, high: float, verdict: str) -> None:
    assert verdict_of(test, margin, (low + high) / 2, low, high) == verdict


def metrics(*rows: tuple[object, ...]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=COLUMNS).assign(provenance=MODEL)


def entry(test: str, first: dict[str, object], second: dict[str, object]) -> dict[str, object]:
    named = {"source": "simsum", "conclusion": "A beats B (Table 5)", "basis": "sampled"}
    return named | {"test": test, "first": first, "second": second}


def test_a_difference_has_the_interval_of_independent_sides() -> None:
    """Sides 0.9 (0.87 to 0.92) of 50 and 0.6 (0.56 to 0.63) of 40."""
    table = metrics(("a", "all", "x", "f1", 0.9, 0.87, 0.92, 50), ("b", "all", "x", "f1", 0.6, 0.56, 0.63, 40))
    wanted = entry("more", {"table": "t", "system": "a"}, {"table": "t", "system": "b"})
    row = conclusions({"t": table}, [wanted]).iloc[0]
    assert row["difference"] == pytest.approx(0.3)
    assert row["low"] == pytest.approx(0.3 - (0.03**2 + 0.03**2) ** 0.5)
    assert row["high"] == pytest.approx(0.3 + (0.02**2 + 0.04**2) ** 0.5)
    assert (row["n"], row["verdict"]) == (40, HOLDS)


def test_a_difference_on_the_same_items_has_the_paired_interval_where_the_table_has_it() -> None:
    sides = metrics(("a", "all", "x", "f1", 0.9, 0.87, 0.92, 50), ("b", "all", "x", "f1", 0.6, 0.56, 0.63, 50))
    apart = metrics(("a", "all against b all", "x", "f1_difference", 0.3, 0.29, 0.32, 50))
    wanted = entry("more", {"table": "t", "system": "a"}, {"table": "t", "system": "b"})
    wanted |= {"paired": {"table": "p", "system": "a", "condition": "all against b all"}}
    row = conclusions({"t": sides, "p": apart}, [wanted]).iloc[0]
    assert (row["low"], row["high"], row["interval"]) == (pytest.approx(0.29), pytest.approx(0.32), "paired")
    turned = {"first": wanted["second"], "second": wanted["first"], "paired": wanted["paired"] | {"reversed": True}}
    back = conclusions({"t": sides, "p": apart}, [wanted | turned]).iloc[0]
    assert (back["difference"], back["low"], back["high"]) == pytest.approx((-row["difference"], -0.32, -0.29))
    unpaired = conclusions({"t": sides, "p": apart[:0]}, [wanted | {"unpaired": "none was kept"}]).iloc[0]
    assert unpaired["interval"] == "independent: none was kept" and unpaired["low"] < row["low"]


def test_correlations_of_the_same_models_are_compared_by_pairs() -> None:
    """Two columns of EHRNoteQA's Table 7 with clinician A; the difference is that of the correlations of Table 5."""
    paired = {"printed": "ehrnoteqa_table7_benchmarks", "columns": ["EHRNoteQA", "MedQA"], "with": ["clinician_a"]}
    sides = [{"table": "t", "system": name} for name in paired["columns"]]
    row = conclusions({}, [entry("more", *sides) | {"paired": paired}]).iloc[0]
    assert row["difference"] == pytest.approx(0.74 - 0.50, abs=0.01) and row["n"] == 19
    assert row["low"] < row["difference"] < row["high"] and row["interval"] == "paired"


def test_a_list_is_any_of_its_values_and_the_side_their_mean() -> None:
    table = metrics(
        *(
            ("a", "all", item, "f1", value, value - 0.1, value + 0.2, 10)
            for item, value in [("x", 0.2), ("y", 0.4), ("z", 0.9)]
        )
    )
    found = side({"table": "t", "system": "a", "item": ["x", "y"]}, {"t": table})
    assert found == pytest.approx((0.3, 0.1, 0.2, 10))


def test_lacking_rows_are_named_or_decide_nothing() -> None:
    wanted = entry("more", {"table": "t", "system": "a"}, {"value": 0})
    with pytest.raises(ValueError, match=r"A beats B.*no row of table.*t: a.*name one that it has"):
        conclusions({"t": metrics()}, [wanted])
    row = conclusions({}, [wanted], strict=False).iloc[0]
    assert (row["verdict"], row["n"]) == (UNTOLD, 0)
    assert shown(row) == "not in these tables"


def test_a_value_without_interval_decides_nothing() -> None:
    table = metrics(("a", "all", "x", "f1", 0.9, math.nan, math.nan, 50))
    row = conclusions({"t": table}, [entry("more", {"table": "t"}, {"value": 0})]).iloc[0]
    assert row["verdict"] == UNTOLD and shown(row) == "+0.900 (no interval)"
    rules = metrics(("a", "all", "x", "f1", 0.9, 0.8, 0.95, 50)).assign(provenance="judge (simulator's rules)")
    for kind in ({}, {"interval": "correlation"}):
        row = conclusions({"t": rules}, [entry("more", {"table": "t", **kind}, {"value": 0})]).iloc[0]
        assert row["verdict"] == UNTOLD and pd.isna(row["low"])


def test_intervals_of_shares_correlations_and_printed_means() -> None:
    """Clopper and Pearson's bound of 20 of 20, 0.025 ** (1 / 20); a correlation of 0 of 103 pairs, tanh(1.96 / 10);
    a printed mean with its standard deviation 0.12 over 5 people, Student's quantile 2.776."""
    table = metrics(
        ("a", "all", "x", "accuracy", 1.0, math.nan, math.nan, 20),
        ("b", "all", "x", "rho", 0.0, math.nan, math.nan, 103),
    )
    share = side({"table": "t", "system": "a", "interval": "share"}, {"t": table})
    assert (share.below, share.above) == pytest.approx((1 - 0.025 ** (1 / 20), 0))
    rho = side({"table": "t", "system": "b", "interval": "correlation"}, {"t": table})
    assert (rho.below, rho.above) == pytest.approx((math.tanh(0.195996), math.tanh(0.195996)), abs=1e-6)
    printed = {"printed": "simsum_table4_expert", "row": "consistency", "figure": "mean", "n": 5}
    half = 2.7764 * 0.12 / 5**0.5
    assert side({**printed, "std": "std_over_5_evaluators"}, {}) == pytest.approx((4.69, half, half, 5), abs=1e-3)


def test_printed_percentages_are_averaged_with_the_combined_intervals_of_their_test_sets() -> None:
    both = {"printed": "doclens_table4_nli_2way", "row": "TRUE", "interval": "share", "of": 100}
    first, second = (side({**both, "figure": name, "n": n}, {}) for name, n in (("anli_r1", 1000), ("mednli", 1422)))
    found = side({**both, "figure": ["anli_r1", "mednli"], "n": [1000, 1422]}, {})
    assert (first.value, second.value) == pytest.approx((0.788, 0.819)) and 0 < second.above < first.above < 0.03
    below, above = math.hypot(first.below, second.below) / 2, math.hypot(first.above, second.above) / 2
    assert found == pytest.approx((0.8035, below, above, 1000))


def test_pairs_of_printed_figures() -> None:
    """Six models have both levels in EHRNoteQA's Table 4; of DocLens's Table 21, GPT-4 by section gains 60.24 to 67.69
    by the first example and 2.19 by the second."""
    levels = [{"printed": "ehrnoteqa_table4_scores", "by": "model", "columns": [f"level{n}_mc_mean"]} for n in (1, 2)]
    assert larger(*levels) == (6, 6) and larger(*levels[::-1]) == (0, 6)
    names = ["GPT-4 (section, 0-shot)", "GPT-4 (section, 1-shot)", "GPT-4-32k (section, 2-shot)"]
    table = {"printed": "doclens_table21_aci_gpt4", "columns": ["claim_recall"]}
    first, second = ({**table, "rows": [names[k]], "minus": [names[k - 1]]} for k in (1, 2))
    assert larger(first, second) == (1, 1) and larger(first, {"value": 7.5}) == (0, 1)
    with pytest.raises(ValueError, match="name rows in both"):
        larger({"printed": "simsum_table4_expert", "columns": ["mean"]}, table)


def test_pairs_are_told_from_a_fair_coin() -> None:
    """All of five has the lower bound 0.025 ** (1 / 5) = 0.478, all of six 0.541."""
    assert share_of_pairs(5, 5)[1] < 0.5 and share_of_pairs(6, 6)[1] == pytest.approx(0.5407, abs=1e-4)
    wanted = entry("pairs", {"printed": "simsum_table4_expert", "columns": ["mean"]}, {"value": 4.6})
    row = conclusions({}, [wanted]).iloc[0]  # 4.69, 4.92 and 4.88 of six are above
    assert (row["difference"], row["n"], row["verdict"]) == (0, 6, UNTOLD)
    assert shown(row).startswith("3 of 6 pairs (0.")


def test_each_conclusion_names_a_table_of_its_paper() -> None:
    listed = {(source, name.split(",")[0]) for source, name in items()}
    for one in [*stated(), *stated("undecided")]:
        place = one["conclusion"].rpartition("(")[2].rstrip(")").replace(";", ",").split(",")[0]
        assert (one["source"], place) in listed and one["source"] in papers(), one["conclusion"]
    bases = {one["basis"] for one in stated()}
    assert {basis.partition(": ")[0] for basis in bases} <= set(BASES) - {"absent"} and "stand-in" not in bases


def test_every_committed_conclusion_has_an_interval_and_none_is_the_rules() -> None:
    table = concluded()
    assert (table["n"] > 0).all() and (table["low"] < table["high"]).all()
    assert not table["basis"].str.contains("run").any()


@pytest.mark.parametrize("stage", ["reproduce", "report"])
def test_a_stage_that_compares_depends_on_the_printed_tables(stage: str) -> None:
    assert "tasks/papers/printed" in read_pipeline(Path("dvc.yaml"))[stage]["deps"]


def test_the_section_and_the_page_have_each_conclusion_with_its_verdict() -> None:
    wanted = [entry("more", {"value": 1}, {"table": "t"})]
    table = conclusions({"t": metrics(("a", "all", "x", "f1", 0.9, 0.8, 0.95, 1200))}, wanted)
    first, second, *_ = conclusions_section(table).parts
    (row,) = first.tables[0].rows
    assert [one.value for one in row[1:4]] == ["✓ holds", "+0.100 (+0.050 to +0.200)", "1,200"]
    assert second.tables[0].rows == [] and second.folds[0].title == "Not decided here"
    counted = pd.concat([table, table, table.assign(verdict=FAILS), table.assign(basis="arithmetic")])
    said = "by the basis that decides it: sampled, 2 hold, 1 fail, 0 cannot be told. 1 more conclusions compare"
    assert said in counts_line(counted)
    cells = "+0.100 (+0.050 to +0.200) | 1,200 | holds | sampled; of one value"
    line = f"| A beats B (Table 5) | more | {cells} |"
    assert line in conclusions_text(table, {"simsum": "SimSUM"}).splitlines()
