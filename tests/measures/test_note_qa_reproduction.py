"""EHRNoteQA's printed tables, recomputed from its printed figures and from files of its scores."""

import pandas as pd
import pytest

from flows.runtime.tables import check
from schemas.tables.metrics import REPRODUCTION_ROWS
from tasks.measures.note_qa.reproduction import category_rows, reproduction_rows
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


def test_a_share_is_compared_within_the_sampling_error_of_both_samples() -> None:
    counts = pd.DataFrame(
        {"item": ["treatment"], "metric": ["category_share"], "condition": ["outside"], "value": [0.3], "n": [400]}
    )
    printed = pd.DataFrame({"category": ["treatment", "vitals"], "percent": [20.0, 5.0]})
    (row,) = category_rows(counts, printed).to_dict("records")  # nobody gave a question the category vitals
    assert (row["row"], row["published"], row["reproduced"]) == ("treatment", 20.0, 30.0)
    assert row["tolerance"] == pytest.approx(8.765, abs=1e-3)  # 1.96 sqrt(0.2 * 0.8 * (1 / 100 + 1 / 400)) = 0.0877
