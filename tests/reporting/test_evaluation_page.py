"""The page of an evaluation: escaped texts, bars of shares, and what the judges could not score."""

import re

import pandas as pd
import pytest

from tasks.reporting.evaluation_page import ShownDocument, render_evaluation
from tests.support.report_page import metric_table

COMPARISON = {
    "system_a": "a", "system_b": "b", "stage": "doclens", "condition": "c", "item": "all", "metric": "claim_recall",
    "a": 0.5, "b": 0.75, "difference": 0.25, "low": 0.1, "high": 0.4, "p": 0.01, "changed": True, "n": 9,
    "failed_a": 0, "failed_b": 0, "failed_both": 0, "bound_low": 0.25, "bound_high": 0.25, "note": "",
}  # fmt: skip
UNSCORED = {
    "document": "d1",
    "system": "a",
    "method": "doclens",
    "step": "claims",
    "reason": "<b>no reply</b>",
    "detail": "x",
}


@pytest.fixture(scope="module")
def page() -> str:
    metrics = metric_table(
        {"metric": "claim_recall", "system": "a", "value": 0.5, "low": 0.25, "high": 0.75},
        {"metric": "claim_recall", "system": "b", "value": 0.875, "low": 0.875, "high": 0.875},
        {"metric": "omission_weight", "system": "a", "value": 3.5, "low": 0.5, "high": 4.0},
    )
    tables = {
        "metrics": metrics,
        "comparisons": pd.DataFrame([COMPARISON, COMPARISON | {"metric": "words", "changed": False}]),
        "unscored": pd.DataFrame([UNSCORED]),
    }
    documents = [ShownDocument("d1", ["Cough."], "Coughs.", {"a": "He coughs. </script>", "b": "Well."})]
    models = {"judge": "rules (simulator's rules)", "answerer": "gpt"}
    return render_evaluation("<i>Mine</i>", documents, [], tables, systems=["a", "b"], models=models, fewest=8)


def test_texts_are_escaped(page: str) -> None:
    assert "&lt;i&gt;Mine&lt;/i&gt;" in page and "<i>Mine" not in page
    assert "&lt;b&gt;no reply" in page and "He coughs. </script>" not in page


def test_intervals_of_shares_are_bars_at_least_one_percent_wide(page: str) -> None:
    bars = [(float(left), float(width)) for left, width in re.findall(r"left:\s*([\d.]+)%;\s*width:\s*([\d.]+)%", page)]
    assert {(25.0, 50.0), (87.5, 1.0)} <= set(bars)
    assert all(left + width <= 101 for left, width in bars), "a weight from 0.5 to 4 has no bar"
    assert "50.0%" in page and "25.0% to 75.0%" in page


def test_the_styles_and_scripts_of_both_pages_are_included(page: str) -> None:
    assert page.count("<style") == 1 and page.count("</script>") == page.count("<script")
