"""The comparison of two lineages as text and as a page."""

import pandas as pd

from tasks.reporting.comparison_page import render_comparison, terminal_text
from tasks.tracking.comparison import COLUMNS
from tasks.tracking.differences import cost_table

EMPTY = pd.DataFrame(columns=["kind", "name", "a", "b", "stages"])
STAGES = pd.DataFrame({"stage": ["doclens"], "outputs": ["data/doclens_scores.parquet"]})
NONE = float("nan")
CHANGED = [0.8, 0.7, -0.1, -0.15, -0.05, 0.001, True, 190, 0, 0, 10, -0.145, -0.095, 1, ""]
OTHER = [
    NONE,
    NONE,
    NONE,
    NONE,
    NONE,
    1.0,
    False,
    0,
    0,
    0,
    0,
    NONE,
    NONE,
    1,
    "not comparable: other items in 20 records",
]
ROWS = [
    ["doclens", "compact notes", "json", "all", "claim_recall", *CHANGED],
    ["note_qa", "answerer", "normal", "all", "score", *OTHER],
]
MEASURES = pd.DataFrame(ROWS, columns=COLUMNS)


def test_the_terminal_lists_changed_measures_and_warnings() -> None:
    lines = terminal_text("a", "b", EMPTY, STAGES, cost_table({}, {}), MEASURES).splitlines()
    assert "measures compared: 2; changed beyond chance (5% family-wise): 1" in lines
    changed = (
        "  doclens  compact notes, json, all, claim_recall: 0.800 -> 0.700 (-0.1000 [-0.1500, -0.0500], p 0.001, n 190)"
    )
    assert changed in lines
    assert lines[-1] == "warning: not comparable: other items in 20 records (1 of 2 measures)"


def test_the_page_shows_failures_bounds_and_notes() -> None:
    page = render_comparison("a", "<b>", EMPTY, STAGES, cost_table({}, {}), MEASURES)
    assert "<td>-0.1450 to -0.0950</td>" in page
    assert page.count("not comparable: other items in 20 records") == 2
    assert "nan" not in page.split("<section><h2>Measures</h2>")[1].split("</figure>")[1]
    assert "<b> " not in page and "&lt;b&gt;" in page
