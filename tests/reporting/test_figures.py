"""Figures show the values of their tables: positions, intervals, labels and colours of what is drawn."""

import pandas as pd
import pytest
from matplotlib.colors import to_hex

from tasks.reporting.figures import (
    COLOURS,
    agreement,
    draw_all,
    embedding_types,
    evidence_settings,
    forest,
    reliability,
    svg,
)
from tests.support.report_page import metric_table, reproduction_rows


def f1(system: str, condition: str, item: str, value: float, low: float, high: float) -> dict:
    named = {"stage": "baselines", "system": system, "condition": condition, "item": item, "metric": "f1"}
    return named | {"value": value, "low": low, "high": high}


TEXT = metric_table(
    f1("neural-text", "normal/hist", "cough", 0.6, 0.5, 0.75),
    f1("neural-text", "normal/span", "cough", 0.9, 0.85, 0.95),
    f1("neural-text", "normal/span", "pain", 0.8, 0.7, 0.82),
    f1("neural-text", "normal/span", "all", 0.1, 0.1, 0.1),
    f1("BN-tab", "all", "cough", 0.4, 0.3, 0.5),
)


BINS = ["system", "condition", "symptom", "value", "bin", "predicted", "observed", "n"]
"""Columns of the calibration of predictions."""


def test_bars_of_the_embeddings_have_the_height_and_the_place_of_their_symptom() -> None:
    figure = embedding_types(TEXT)
    (axes,) = figure.axes  # no compact notes, no panel for them
    assert axes.get_title() == "normal notes" and axes.get_ylabel() == "F1" and axes.get_ylim() == (0, 1)
    assert [label.get_text() for label in axes.get_xticklabels()] == ["cough", "pain"]
    bars = {
        group.get_label(): [bar.get_height() for bar in group.patches]
        for group in axes.containers
        if hasattr(group, "patches")
    }
    assert bars["hist"][0] == 0.6 and bars["span"] == [0.9, 0.8]
    spans = next(group for group in axes.containers if group.get_label() == "span")
    # five bars share 0.8 of the distance between two symptoms; the last one is two places right of the middle
    assert [bar.get_x() + bar.get_width() / 2 for bar in spans.patches] == pytest.approx([0.32, 1.32])
    assert spans.patches[0].get_width() == pytest.approx(0.76 / 5)
    low, high = spans.errorbar.lines[2][0].get_segments()[0][:, 1]
    assert (low, high) == pytest.approx((0.85, 0.95))


def test_each_model_with_tabular_features_has_a_panel() -> None:
    more = metric_table(
        f1("neural-text-tab", "normal/all", "cough", 0.7, 0.6, 0.8),
        f1("BN-text", "normal/realistic", "cough", 0.5, 0.4, 0.6),
        f1("BN-text", "compact/realistic", "cough", 0.3, 0.2, 0.4),
    )
    figure = evidence_settings(pd.concat([TEXT, more], ignore_index=True))
    assert [axes.get_title() for axes in figure.axes] == [
        "BN-tab",
        "neural-text-tab, normal notes",
        "BN-text, normal notes",
    ]
    assert [axes.get_ylabel() for axes in figure.axes] == ["F1", "", ""]
    legend = figure.axes[-1].get_legend()
    assert legend is not None and [text.get_text() for text in legend.get_texts()] == ["all", "no-sympt", "realistic"]
    assert evidence_settings(TEXT[TEXT["system"] == "neural-text"]) is None


def test_reliability_pools_symptoms_by_the_number_of_predictions() -> None:
    rows = [
        ("BN-tab", "all", "cough", "yes", 0, 0.10, 0.0, 30),
        ("BN-tab", "all", "pain", "yes", 0, 0.20, 0.4, 10),
        ("BN-tab", "all", "pain", "yes", 5, 0.55, 0.5, 60),
        ("BN-tab", "all", "pain", "yes", 7, 0.00, 0.0, 0),
        ("BN-tab", "realistic", "pain", "yes", 0, 0.90, 0.9, 60),
    ]
    figure = reliability(pd.DataFrame(rows, columns=BINS))
    (axes,) = figure.axes
    diagonal, curve = axes.get_lines()
    assert diagonal.get_xydata().tolist() == [[0, 0], [1, 1]]
    assert curve.get_xydata().ravel().tolist() == pytest.approx([0.125, 0.1, 0.55, 0.5])
    assert axes.collections[0].get_sizes().tolist() == pytest.approx([8 + 240 * 0.4, 8 + 240 * 0.6])
    assert curve.get_color() == to_hex(axes.collections[0].get_facecolor()[0]) != diagonal.get_color()
    assert axes.get_title() == "BN-tab, all" and axes.get_ylabel() == "observed frequency"
    assert reliability(pd.DataFrame(columns=BINS)) is None


def test_a_forest_has_a_row_per_value_from_top_to_bottom_and_a_line_at_zero_if_an_interval_holds_it() -> None:
    table = metric_table(
        {"metric": "effect", "system": "exact", "value": -0.2, "low": float("nan"), "high": float("nan")},
        {"metric": "effect", "system": "without_adjustment", "value": 0.1, "low": -0.1, "high": 0.3},
        {"metric": "other", "value": 9.0},
    )
    figure = forest("effect", parts=("system",), label="effect")(table)
    (axes,) = figure.axes
    assert [label.get_text() for label in axes.get_yticklabels()] == [
        "without adjustment (n\u00a010)",
        "exact (n\u00a010)",
    ]
    drawn = [line.get_xydata().tolist() for line in axes.get_lines()]
    assert [[-0.1, 0.0], [0.3, 0.0]] in drawn and [[0.1, 0.0]] in drawn and [[-0.2, 1.0]] in drawn
    assert len(drawn) == 4, "one interval, two values, and the line at zero"
    assert axes.get_xlabel() == "effect, 95% interval"


def test_a_forest_needs_two_to_thirty_rows() -> None:
    def drawn(rows: int) -> bool:
        table = metric_table(*({"metric": "m", "item": str(n), "low": 0.1} for n in range(rows)))
        return forest("m")(table) is not None

    assert [drawn(rows) for rows in (1, 2, 30, 31)] == [False, True, True, False]


def test_printed_and_reproduced_values_are_drawn_by_basis_and_verdict() -> None:
    rows = reproduction_rows(
        {"published": 0.5, "reproduced": 0.5},
        {"published": 0.8, "reproduced": 0.6, "verdict": "fail"},
        {"published": -2.0, "reproduced": -2.0, "basis": "sampled"},
        {"published": 0.1, "reproduced": float("nan"), "basis": "absent", "verdict": "absent"},
    )
    figure = agreement(rows)
    exact, sampled = figure.axes
    assert (exact.get_title(), sampled.get_title()) == ("recomputed (2)", "sampled (1)")
    assert (exact.get_ylabel(), sampled.get_ylabel(), sampled.get_xlabel()) == ("reproduced", "", "printed")
    met, missed = (points.get_offsets().tolist() for points in exact.collections)
    assert (met, missed) == ([[0.5, 0.5]], [[0.8, 0.6]])
    assert exact.get_lines()[0].get_xdata().tolist() == pytest.approx([0, 0.84])
    assert sampled.get_lines()[0].get_xdata().tolist() == pytest.approx([-2.0, -2.1])
    assert agreement(rows.tail(1)) is None


def test_equal_tables_give_equal_bytes_and_an_unknown_table_no_figure() -> None:
    first, second = (draw_all("baselines", TEXT) for _ in range(2))
    assert first == second and len(first) == 2 and first[0]["svg"].startswith("<svg")
    assert COLOURS[0] in first[0]["svg"] and "Fig. 10" in first[0]["caption"]
    assert draw_all("unknown", TEXT) == []
    assert svg(embedding_types(TEXT)) == first[0]["svg"]  # type: ignore[arg-type]


def test_an_interval_that_ends_at_zero_has_no_line_at_zero() -> None:
    def lines(low: float, high: float) -> int:
        rows = ({"metric": "m", "item": item, "low": low, "high": high} for item in "ab")
        figure = forest("m")(metric_table(*rows))
        return len(figure.axes[0].get_lines())

    assert [lines(*interval) for interval in ((-0.1, 0.1), (0.0, 0.1), (-0.1, 0.0))] == [5, 4, 4]


def test_only_questions_to_the_answerer_over_all_items_are_in_the_figure_of_answers() -> None:
    keys = [("answerer", "all", "normal"), ("answerer", "all", "none"), ("answerer", "q1", "x"), ("judge", "all", "y")]
    rows = [{"metric": "score", "system": a, "item": b, "condition": c} for a, b, c in keys]
    (drawn,) = draw_all("note_qa", metric_table(*rows))
    assert "normal" in drawn["svg"] and ">x<" not in drawn["svg"] and ">y<" not in drawn["svg"]
    assert draw_all("note_qa", metric_table(*rows[:1], *rows[2:])) == []


def test_accuracy_by_place_is_drawn_from_the_notes_only() -> None:
    keys = [("level 1, place end", "normal"), ("level 2, place end", "normal"), ("level 3, place end", "none")]
    rows = [{"metric": "accuracy", "item": item, "condition": f"multiple_choice/{version}"} for item, version in keys]
    (drawn,) = draw_all("history_qa", metric_table(*rows))
    assert "level 2, place end" in drawn["svg"] and "level 3" not in drawn["svg"]
