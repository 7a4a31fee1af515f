"""Figures show the values of their tables: positions, intervals, labels and colours of what is drawn."""

import pytest

from tasks.reporting.figures import (
    COLOURS,
    evidence_settings,
    figure_of,
    forest,
)
from tests.support.report_page import metric_table


def f1(system: str, condition: str, item: str, value: float, low: float, high: float) -> dict:
    named = {"stage": "baselines", "system": system, "condition": condition, "item": item, "metric": "f1"}
    return named | {"value": value, "low": low, "high": high}


TEXT = metric_table(
    f1("BN-tab", "all", "cough", 0.4, 0.3, 0.5),
    f1("BN-tab", "realistic", "cough", 0.9, 0.85, 0.95),
    f1("BN-tab", "realistic", "pain", 0.8, 0.7, 0.82),
    f1("BN-tab", "realistic", "all", 0.1, 0.1, 0.1),
    f1("neural-text", "normal/span", "cough", 0.9, 0.85, 0.95),
)


def test_bars_have_the_height_and_the_place_of_their_symptom() -> None:
    figure = evidence_settings(TEXT)
    (axes,) = figure.axes  # a panel for each model with tabular features
    assert axes.get_title() == "BN-tab" and axes.get_ylabel() == "F1" and axes.get_ylim() == (0, 1)
    assert [label.get_text() for label in axes.get_xticklabels()] == ["cough", "pain"]
    bars = {group.get_label(): group for group in axes.containers if hasattr(group, "patches")}
    assert bars["all"].patches[0].get_height() == 0.4 and bars["realistic"].patches[1].get_height() == 0.8
    # three bars share 0.8 of the distance between two symptoms; the last one is one place right of the middle
    places = [bar.get_x() + bar.get_width() / 2 for bar in bars["realistic"].patches]
    assert places == pytest.approx([0.8 / 3, 1 + 0.8 / 3]) and bars["all"].patches[0].get_width() == pytest.approx(
        0.76 / 3
    )
    low, high = bars["realistic"].errorbar.lines[2][0].get_segments()[1][:, 1]
    assert (low, high) == pytest.approx((0.7, 0.82))


def test_a_forest_has_a_row_per_value_from_top_to_bottom_and_a_line_at_zero_if_an_interval_holds_it() -> None:
    table = metric_table(
        {"metric": "effect", "system": "exact", "value": -0.2, "low": float("nan"), "high": float("nan"), "n": 0},
        {"metric": "effect", "system": "without_adjustment", "value": 0.1, "low": -0.1, "high": 0.3},
        {"metric": "other", "value": 9.0},
    )
    figure = forest("effect", parts=("system",), label="effect")(table)
    (axes,) = figure.axes
    assert [label.get_text() for label in axes.get_yticklabels()] == [
        "without adjustment (n\u00a010)",
        "exact",
    ]
    drawn = [line.get_xydata().tolist() for line in axes.get_lines()]
    assert [[-0.1, 0.0], [0.3, 0.0]] in drawn and [[0.1, 0.0]] in drawn and [[-0.2, 1.0]] in drawn
    assert len(drawn) == 4, "one interval, two values, and the line at zero"
    assert axes.get_xlabel() == "effect, 95% interval"
    assert forest("effect")(table.assign(low=float("nan"), high=float("nan"))) is None, "the table is shown"


def test_equal_tables_give_equal_bytes_and_an_unknown_table_no_figure() -> None:
    first, second = (figure_of("baselines", TEXT) for _ in range(2))
    assert first == second and first is not None and first[0].startswith("<svg") and COLOURS[0] in first[0]
    assert figure_of("unknown", TEXT) is None
