"""Categories of questions next to EHRNoteQA's Table 3."""

import pandas as pd
import pytest

from tasks.evaluation.note_qa.outside_reproduction import category_rows


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
