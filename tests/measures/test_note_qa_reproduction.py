"""EHRNoteQA's printed tables, recomputed from its printed figures and from files of its scores."""

import pandas as pd
import pytest

from flows.runtime.tables import check
from schemas.tables.metrics import METRICS, REPRODUCTION_ROWS
from tasks.measures.note_qa.reproduction import category_rows, correlation_metrics, reproduction_rows
from tasks.reproduction.published import judge

NAMES = ("4_scores", "5_correlations", "6_takes", "7_benchmarks")


@pytest.fixture(scope="module")
def tables():
    return [pd.read_csv(f"tasks/reproduction/published/ehrnoteqa_table{name}.csv") for name in NAMES]


@pytest.fixture(scope="module")
def rows(tables):
    return judge(check(reproduction_rows(*tables), REPRODUCTION_ROWS, "rows"))


def test_all_rows_pass_but_the_one_misprint_and_16_of_clinician_b(rows):
    failed = rows[rows["verdict"] != "pass"]
    of_b = failed["row"].str.startswith("clinician B")
    assert of_b.sum() == 16 and (failed["published"] - failed["reproduced"])[of_b].abs().max() < 0.025
    failed = failed[~of_b]
    assert list(zip(failed["row"], failed["column"], strict=True)) == [("MPT-30b-instruct", "level1_free_mean")]
    assert failed["reproduced"].iloc[0] == pytest.approx(56.104)
    assert "56.10" in failed["note"].iloc[0]


def test_means_and_multiple_choice_deviations_come_out_to_the_printed_digit(rows):
    cells = rows[(rows["table"] == "Table 4") & (rows["row"] != "MPT-30b-instruct")]
    for row in cells.itertuples():
        digits = 3 if "_mc_" in row.column else 2
        if row.column != "level1_free_std":
            assert abs(row.reproduced - row.published) <= 0.5 * 10**-digits + 1e-9, row


def test_at_most_two_free_text_deviations_differ_in_the_last_digit(rows):
    cells = rows[rows["column"] == "level1_free_std"]
    differ = (cells["reproduced"] - cells["published"]).abs() > 0.005 + 1e-9
    assert differ.sum() == 2  # the takes are printed with two digits


def test_rank_changes_are_12_and_29(rows):
    changes = rows[rows["row"] == "all models"].set_index("column")["reproduced"]
    assert changes.to_dict() == {"rank_changes_multi_choice": 12.0, "rank_changes_free_text": 29.0}


def test_the_printed_mode_ranks_and_mean_deviations_follow_from_the_takes(rows):
    modes = rows[rows["column"].str.endswith("mode_rank")]
    assert len(modes) == 44
    (tied,) = modes[modes["published"] != modes["reproduced"]].itertuples()
    assert (tied.row, tied.published, tied.reproduced) == ("WizardLM-13B-V1.2", 15, 14)
    deviations = rows[rows["table"] == "Section 4.1"]["reproduced"].round(2)
    assert sorted(deviations) == [0.24, 1.21]


def test_table_5_of_clinicians_a_and_c_comes_out_to_the_printed_digit(rows):
    cells = rows[rows["table"] == "Table 5"]
    assert len(cells) == 72
    exact = cells[~cells["row"].str.startswith("clinician B")]
    assert ((exact["reproduced"] - exact["published"]).abs() <= 0.005 + 1e-9).all()


def test_table_5_has_the_intervals_that_the_paper_leaves_out(tables):
    metrics = check(correlation_metrics(tables[3], seed=7), METRICS, "metrics")
    assert (metrics["low"] <= metrics["value"]).all() and (metrics["value"] <= metrics["high"]).all()


def test_a_share_is_compared_within_the_sampling_error_of_both_samples() -> None:
    counts = pd.DataFrame(
        {"item": ["treatment"], "metric": ["category_share"], "condition": ["outside"], "value": [0.3], "n": [400]}
    )
    printed = pd.DataFrame({"category": ["treatment", "vitals"], "percent": [20.0, 5.0]})
    (row,) = category_rows(counts, printed).to_dict("records")  # nobody gave a question the category vitals
    assert (row["row"], row["published"], row["reproduced"]) == ("treatment", 20.0, 30.0)
    assert row["tolerance"] == pytest.approx(8.765, abs=1e-3)  # 1.96 sqrt(0.2 * 0.8 * (1 / 100 + 1 / 400)) = 0.0877


def test_without_categories_there_is_no_row() -> None:
    counts = pd.DataFrame(columns=["item", "metric", "condition", "value", "n"])
    assert category_rows(counts, pd.DataFrame({"category": ["vitals"], "percent": [5.0]})).empty
