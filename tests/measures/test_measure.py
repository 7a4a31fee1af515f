"""Scores and figures from verdicts, worked by hand."""

import re
from typing import Any

import pandas as pd
import pytest

from schemas.errors import ParamsError
from schemas.tables.metrics import METRICS
from schemas.tables.verdicts import LOST, VERDICTS, in_order, verdict_table
from tasks.measures.described import chosen
from tasks.measures.measure import (
    Metric,
    differences,
    figures,
    record_scores,
    scores,
    scores_and_ceilings,
    unscored_documents,
)
from tasks.statistics.intervals import COUNT

SHARE = {"kept": Metric()}


def verdicts(*texts: tuple[float | None, ...], **more: Any) -> pd.DataFrame:
    """VERDICTS of one system: the values of each document's units."""
    of = {"system": "s", "condition": "c", "item": "all", "metric": "kept", "text": "unit"} | more
    return VERDICTS.validate(
        verdict_table(
            [
                {"document": f"{at}", "unit": f"{place}", "value": value, **of}
                for at, values in enumerate(texts)
                for place, value in enumerate(values)
            ],
            judge="j",
        )
    )


@pytest.mark.parametrize(
    ("values", "score"), [((1, 1, 0), 2 / 3), ((), None), ((1, None), 1), ((None, None), None), ((1, 0.5), 0.75)]
)
def test_a_score_is_the_mean_of_the_verdicts_that_did_not_fail(values: tuple, score: float | None) -> None:
    assert scores(verdicts(values), SHARE)["value"].tolist() == ([] if score is None else [pytest.approx(score)])


def test_mean_over_texts_and_pooled_over_units_differ() -> None:
    # One text with 1 of 1, one with 1 of 4: mean (1 + 0.25) / 2, pooled 2 / 5; a failed one counts nowhere.
    table = verdicts((1,), (1, 0, 0, 0), (None,))
    every = METRICS.validate(figures(table, SHARE, stage="t", seed=1, provenance="p")).set_index("metric")
    assert every.loc[["kept", "kept_pooled"], "value"].tolist() == [0.625, 0.4]
    assert every.loc[["kept", "kept_pooled"], ["n", "unscored"]].to_numpy().tolist() == [[2, 1], [5, 1]]
    ends = every.loc[["kept_bounds", "kept_pooled_bounds"], ["low", "high"]].to_numpy().ravel().tolist()
    assert ends == pytest.approx([1.25 / 3, 2.25 / 3, 2 / 6, 3 / 6]), "the failed text has none or all"
    assert (every["stage"] == "t").all() and unscored_documents(table, SHARE).tolist() == [1]


def test_nothing_is_known_of_a_measure_that_failed() -> None:
    found = figures(verdicts((None,)), SHARE, stage="t", seed=1, provenance="p")
    assert found["value"].isna().all() and found["n"].tolist() == [0, 0, 1, 1]
    assert found[["low", "high"]].dropna().to_numpy().tolist() == [[0, 1], [0, 1]]


def test_sections_are_joined_for_the_whole_text() -> None:
    table = pd.concat([verdicts((1, 0), item="plan"), verdicts((1, 1), item="exam")])
    assert scores(table, SHARE).set_index("item")["value"].to_dict() == {"all": 0.75, "exam": 1, "plan": 0.5}
    whole = scores(pd.concat([table, verdicts((0,))]), SHARE).set_index("item")["value"]
    assert whole["all"] == 0, "a text that is judged as a whole has its own verdicts"


def test_a_metric_may_count_words_of_another_ones_verdicts() -> None:
    # Of yes, partly, no and a failed one, the words count 1, 0.5, 0: (1 + 0.5 + 0) / 3; the values 1 of 3.
    table = verdicts((1, 0, 0, None)).assign(verdict=["yes", "partly", "no", None])
    metrics = {**SHARE, "in_part": Metric(of="kept", words={"yes": 1.0, "partly": 0.5})}
    assert scores(table, metrics).set_index("metric")["value"].to_dict() == {
        "in_part": 0.5,
        "kept": pytest.approx(1 / 3),
    }
    assert scores(table, {"other": Metric()}).empty


def test_units_are_in_the_order_of_their_numbers() -> None:
    mixed = verdicts((1, 0, 1)).assign(unit=["lost", "10", "2"])
    assert in_order(mixed)["unit"].tolist() == ["2", "10", "lost"]
    names = in_order(mixed.assign(unit=["F10", "F2", "F0"]))["unit"].tolist()
    assert names == ["F0", "F10", "F2"], "these are names"
    assert in_order(mixed.iloc[:0]).empty


def test_scores_of_notes_are_by_record() -> None:
    found = record_scores(verdicts((1,), (0, 1)).assign(document=["10", "2", "2"]), SHARE)
    assert found[["record", "value"]].to_numpy().tolist() == [[2, 0.5], [10, 1]]


ALONE = {"of": "kept", "bounds": COUNT, "pooled": False}
SUM = Metric(**ALONE, kind="sum", deviation=True)
WEIGHT = Metric(**ALONE, kind="weight", weights=(0.1, 1.0))


def test_failed_verdicts_add_to_a_sum_and_to_a_sum_of_weights_as_the_others_do() -> None:
    # Two of four verdicts are yes, with weights 1 and 0.5, and two failed: six tenths of six units would be 3, of 0.75.
    table = verdicts((1, 1, 0, 0, None, None)).assign(weight=[1.0, 0.5, 0.2, 0.2, 0.3, None])
    found = scores_and_ceilings(table, {"sum": SUM, "weight": WEIGHT}).set_index("metric")
    assert found.loc["sum", ["value", "ceiling"]].tolist() == [3, 6]
    assert "weight" not in found.index, "nobody knows the weight of all units"
    assert scores(table, {"weight": WEIGHT})["value"].tolist() == [3 * 0.75]
    rows = figures(table, {"sum": SUM, "weight": WEIGHT}, stage="t", seed=1, provenance="p").set_index("metric")
    assert rows.loc["sum_bounds", ["low", "high"]].tolist() == [2, 4]
    assert rows.loc["weight_bounds", ["low", "high"]].tolist() == [1.5, 1.5 + 0.3 + 1.0]
    assert unscored_documents(table, {"weight": WEIGHT}).tolist() == [1]


def without_the_last(table: pd.DataFrame, system: str = "s") -> pd.DataFrame:
    """``table`` whose last text is missing, of the ``system``."""
    last = table["document"].eq(table["document"].max())
    lost = table[last].head(1).assign(unit=LOST, text="", value=None, verdict=None)
    return pd.concat([table[~last], lost], ignore_index=True).assign(system=system)


def test_the_least_and_the_most_are_of_units_that_are_known_from_another_system() -> None:
    # Eight texts of five units, of which s has 1 of each and t misses the last: 7 of 40 to 12 of 40.
    whole = verdicts(*[(1, 0, 0, 0, 0)] * 8)
    both = pd.concat([whole, without_the_last(whole, "t")])

    def bounds(table: pd.DataFrame, metric: Metric) -> pd.DataFrame:
        rows = figures(table, {"kept": metric}, stage="t", seed=1, provenance="p").set_index(["system", "metric"])
        return rows[rows.index.get_level_values("metric").str.endswith("_bounds")]

    pooled = bounds(both, Metric(common=True)).loc[("t", "kept_pooled_bounds")]
    assert pooled[["low", "high", "n", "unscored"]].tolist() == [7 / 40, 12 / 40, 40, 5]
    weighed = Metric(kind="weight", bounds=COUNT, pooled=False, common=True)
    of_sum = bounds(both.assign(weight=0.5), weighed).loc[("t", "kept_bounds")]
    assert of_sum[["low", "high", "n", "unscored"]].tolist() == [3.5 / 8, 6 / 8, 8, 1]
    partly = verdicts(*[(1, 0, 0, 0, 0)] * 7, (1, None)).assign(system="t")
    partly.loc[partly.index[-1], ["unit", "text"]] = LOST, ""
    for table, metric in ((both, Metric()), (without_the_last(whole, "t"), Metric(common=True)), (partly, Metric())):
        found = bounds(table, metric)
        assert found.index.tolist() == [("t", "kept_bounds")], "nobody knows the number of units"
        assert found[["low", "high", "n"]].to_numpy()[0] == pytest.approx([1.4 / 8, 2.4 / 8, 8])


def test_a_deviation_stands_beside_the_mean_and_sums_over_lost_texts_have_no_bounds() -> None:
    table = without_the_last(verdicts((1, 1), (1, 0), (None,)))
    rows = METRICS.validate(figures(table, {"sum": SUM}, stage="t", seed=1, provenance="p")).set_index("metric")
    assert rows.index.tolist() == ["sum", "sum_std"] and rows["value"].tolist() == [1.5, 0.5]
    assert rows[["n", "unscored"]].to_numpy().tolist() == [[2, 1]] * 2
    assert rows.loc["sum_std", ["low", "high"]].isna().all(), "of two values"
    eight = figures(verdicts(*[(1,) * at for at in range(1, 9)]), {"s": SUM}, stage="t", seed=1, provenance="p")
    assert (eight["low"] < eight["value"]).all() and (eight["value"] < eight["high"]).all()


def test_a_deviation_has_an_interval_within_reason() -> None:
    """Rounding of 13 equal shares made one of 2e-31 to 9e27; no share deviates by more than a half."""
    outlier = verdicts((1,), *[(1, 1, 1, 1, 1, 0)] * 13)
    halves = verdicts(*[(1,), (0,)] * 4)
    for table, least, most in ((outlier, 0.02, 0.08), (halves, 0.2, 0.5)):
        rows = figures(table, {"s": Metric(of="kept", deviation=True)}, stage="t", seed=1, provenance="p")
        spread = rows.set_index("metric").loc["s_std"]
        assert least < spread["low"] < spread["value"] <= spread["high"] <= most


def test_a_pooled_metric_is_of_some_units_and_of_no_single_text() -> None:
    table = verdicts((1, 1, 0), (1,)).assign(verdict=["part", "whole", None, "whole"])
    metrics = {"in_part": Metric("kept", {"part": 1.0}, among=("part", "whole"), kind="pooled")}
    rows = figures(table, metrics, stage="t", seed=1, provenance="p")
    assert rows[["metric", "value", "n"]].to_numpy().tolist() == [["in_part", pytest.approx(1 / 3), 3]]
    assert scores(table, metrics).empty


def test_systems_differ_on_the_documents_that_both_have() -> None:
    table = pd.concat([verdicts((1, 1), (1, 0), (1,)), verdicts((0, 0), (1, 0)).assign(system="t")])
    rows = differences(table, {"kept": Metric(), "sum": SUM}, stage="t", seed=1, provenance="p").set_index("metric")
    assert rows["system"].unique().tolist() == ["s against t"] and rows["unscored"].tolist() == [1, 1]
    assert rows.loc[["kept_difference", "sum_difference"], "value"].tolist() == [0.5, 1.0]
    assert rows.loc["kept_difference", "high"] <= 1 < rows.loc["sum_difference", "high"]


def test_an_unknown_measure_is_refused_with_what_may_be_meant() -> None:
    claim_recall = "; {} is among the metrics of doclens"
    hints = {"Claim_Recall2": claim_recall, "claim_recall": claim_recall, "doclenz": "; did you mean doclens?"}
    for name, hint in (hints | {"claim": "overlap", "42": "overlap"}).items():  # of more than one measure, and of none
        with pytest.raises(ParamsError, match=f"--metrics is '{name}'; expected .*{re.escape(hint.format(name))}$"):
            chosen(["doclens", name])
    assert [one.choice for one in chosen(["grounding", "doclens"])] == ["doclens", "grounding"]
    assert all(one.by_default for one in chosen(None))
