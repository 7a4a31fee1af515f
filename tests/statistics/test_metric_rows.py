"""The builder of metric rows."""

import numpy as np
import pandas as pd
import pytest

from tasks.statistics.intervals import mean_interval
from tasks.statistics.metric_rows import (
    balanced_accuracy,
    bounds_rows,
    detection_rows,
    mean_row,
    metric_row,
    metric_table,
    precision_at_half,
    ratio_row,
    system_difference_rows,
)

SHARED = {"stage": "s", "system": "judge", "condition": "c", "item": "all", "provenance": "rules"}


def test_systems_are_compared_on_the_documents_that_both_have_a_score_of():
    scores = [
        ("d1", "a", 1.0),
        ("d1", "b", 0.5),
        ("d2", "a", 0.5),
        ("d2", "b", 0.5),
        ("d3", "a", 0.0),
        ("d4", "b", 0.0),
    ]
    frame = pd.DataFrame(scores, columns=["document", "system", "value"]).assign(metric="recall")
    row = metric_table(system_difference_rows(frame), **{k: v for k, v in SHARED.items() if k != "system"}).iloc[0]
    assert (row["system"], row["metric"]) == ("a against b", "recall_difference")
    assert (row["value"], row["n"], row["unscored"]) == (0.25, 2, 2)
    assert row["low"] < 0.25 < row["high"]


def test_a_row_with_a_missing_or_a_misspelt_column_is_refused_by_name():
    with pytest.raises(ValueError, match=r"missing columns \['provenance'\], unknown columns \[\]"):
        metric_table([metric_row("f1", 0.5, n=4)], **{k: v for k, v in SHARED.items() if k != "provenance"})
    with pytest.raises(ValueError, match=r"missing columns \[\], unknown columns \['unscore'\]"):
        metric_table([metric_row("f1", 0.5, n=4, unscore=1)], **SHARED)


def test_a_value_outside_the_bounds_is_refused_with_the_metric() -> None:
    with pytest.raises(ValueError, match=r"metric words: value 3 is outside 0 to 1; pass the bounds"):
        mean_row("words", [0, 3])


def test_rates_of_verdicts_by_hand() -> None:
    """3 of 4 true cases found and one failed; 1 of 5 false ones judged true: precision (3/4) / (3/4 + 1/5) at half."""
    truth, judged = [True] * 5 + [False] * 5, [True, True, True, False, None, True, False, False, False, False]
    rows = {row["metric"]: row for row in detection_rows(truth, judged, range(10), seed=1, item="all")}
    bounds = {name: (row["low"], row["high"]) for name in list(rows)[3:] if (row := rows.pop(name))}
    assert bounds["sensitivity_bounds"] == pytest.approx((3 / 5, 4 / 5)) and "specificity_bounds" not in bounds
    assert bounds["precision_at_half_bounds"] == pytest.approx((0.6 / 0.8, 0.8 / 1.0))
    assert list(rows) == ["sensitivity", "specificity", "precision_at_half"]
    assert [row["value"] for row in rows.values()] == pytest.approx([0.75, 0.8, 0.75 / 0.95])
    assert [(row["n"], row["unscored"]) for row in rows.values()] == [(4, 1), (5, 0), (9, 1)]
    assert all(row["low"] < row["value"] < row["high"] and row["item"] == "all" for row in rows.values())
    assert rows["sensitivity"]["low"] == mean_row("s", [1, 1, 1, 0])["low"]


def test_cases_of_one_truth_have_no_precision() -> None:
    *_, precision = detection_rows([True, True], [True, False], [0, 1], seed=1)
    assert np.isnan([precision["value"], precision["low"], precision["high"]]).all()
    assert precision_at_half(0.9, 0.8) == pytest.approx(0.9 / 1.1) and np.isnan(precision_at_half(0, 1))


def test_rates_that_vary_together_have_a_wider_balanced_accuracy_and_precision() -> None:
    """Ten texts with a case of each truth: both right or both wrong, against one rate's errors in other texts."""
    truth, texts, right = [True] * 10 + [False] * 10, list(range(10)) * 2, np.array([True] * 8 + [False] * 2)
    widths = []
    for others in (right, right[::-1]):
        judged = np.concatenate([right, ~others])
        value, low, high = balanced_accuracy(truth, judged, texts)
        precision = detection_rows(truth, judged, texts, seed=1)[2]
        assert value == pytest.approx(0.8) and low < value < high
        widths.append((high - low, precision["high"] - precision["low"]))
    assert widths[0][0] == pytest.approx(np.diff(mean_interval(right)[1:])[0])  # as the one rate: correlation 1
    assert (np.array(widths[0]) > 1.2 * np.array(widths[1])).all()
    assert np.isnan(balanced_accuracy([True, True], [True, False], [0, 1])).all()


def test_a_ratio_counts_its_wholes() -> None:
    row = ratio_row("pooled", [2, 3], [4, 4], item="all")
    assert (row["value"], row["n"], row["item"]) == (0.625, 8, "all") and ratio_row("f", [2], [4], n=1)["n"] == 1


def test_a_model_that_fails_on_its_errors_is_not_better_in_the_worst_case() -> None:
    """Of 100 answers 20 are wrong; the second model fails on 5 of them, and its mean rises from .80 to .84."""
    honest, failing = [1.0] * 80 + [0.0] * 20, [1.0] * 80 + [0.0] * 15
    row = mean_row("accuracy", failing, unscored=5)
    (bounds,) = bounds_rows(row)
    assert row["value"] > mean_row("accuracy", honest)["value"] == bounds["low"] == 0.8
    assert bounds["high"] == 0.85 and bounds["n"] == 100
    assert bounds_rows(mean_row("accuracy", honest, unscored=0)) == []


def test_precision_at_half_has_the_interval_of_two_independent_rates() -> None:
    truth = np.repeat([True, False], 400)
    judged = np.concatenate([np.arange(400) < 200, np.arange(400) >= 360])  # half of one, a tenth of the other
    row = detection_rows(truth, judged, np.arange(800), seed=1)[2]
    draw = np.random.default_rng(2)
    hits, alarms = (draw.beta(yes + 0.5, 400 - yes + 0.5, 50_000) for yes in (200, 40))
    assert row["value"] == pytest.approx(0.5 / 0.6)
    assert (row["low"], row["high"]) == pytest.approx(np.quantile(hits / (hits + alarms), [0.025, 0.975]), abs=0.01)
