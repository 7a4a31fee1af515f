"""The builder of metric rows."""

import numpy as np
import pandas as pd
import pytest

from flows.runtime.tables import check
from schemas.tables.metrics import METRICS, SCORES
from tasks.statistics.metric_rows import mean_row, metric_row, metric_table, score_table

SHARED = {"stage": "s", "system": "judge", "condition": "c", "item": "all", "provenance": "rules"}


def test_a_table_has_the_schemas_columns_and_types_also_without_rows():
    check(metric_table([]), METRICS, "metrics")
    table = check(metric_table([metric_row("f1", 0.5, n=4)], **SHARED), METRICS, "metrics")
    row = table.iloc[0]
    assert (row["system"], row["value"], row["n"], row["unscored"]) == ("judge", 0.5, 4, 0)
    assert table[["low", "high", "seed"]].isna().all(axis=None)


def test_a_rows_own_column_takes_precedence_over_the_shared_one():
    rows = [metric_row("f1", 0.5, n=4), metric_row("f1", 0.6, n=4, item="cough", unscored=2)]
    table = metric_table(rows, **SHARED, seed=7)
    assert table["item"].tolist() == ["all", "cough"]
    assert table["unscored"].tolist() == [0, 2]
    assert table["seed"].tolist() == ["7", "7"]


def test_a_mean_has_its_number_of_values_its_seed_and_an_interval_around_it():
    row = metric_table([mean_row("f1", [0.0, 0.5, 1.0, 0.5], seed=3)], **SHARED).iloc[0]
    assert (row["value"], row["n"], row["seed"]) == (0.5, 4, "3")
    assert 0 <= row["low"] < 0.5 < row["high"] <= 1


def test_a_mean_of_nothing_is_not_a_score():
    row = mean_row("f1", [], seed=3)
    assert row["n"] == 0
    assert np.isnan([row["value"], row["low"], row["high"]]).all()


def test_a_row_with_a_missing_or_a_misspelt_column_is_refused_by_name():
    with pytest.raises(ValueError, match=r"missing columns \['provenance'\], unknown columns \[\]"):
        metric_table([metric_row("f1", 0.5, n=4)], **{k: v for k, v in SHARED.items() if k != "provenance"})
    with pytest.raises(ValueError, match=r"missing columns \[\], unknown columns \['unscore'\]"):
        metric_table([metric_row("f1", 0.5, n=4, unscore=1)], **SHARED)


def test_scores_are_sorted_by_their_key_and_lose_other_columns():
    rows = [("2", "b"), ("10", "a"), ("2", "a")]
    frame = pd.DataFrame(rows, columns=["record", "metric"]).assign(
        system="x", condition="c", item="all", value=1, note="text"
    )
    table = check(score_table(frame), SCORES, "scores")
    assert list(zip(table["record"], table["metric"], strict=True)) == [(2, "a"), (2, "b"), (10, "a")]
