"""Metric and reproduction tables are pivoted for display without loss."""

import pytest

from tasks.reporting.tables_view import by_basis, metric_view, reproduction_view
from tests.support.report_page import metric_table, reproduction_rows

NAMES = {
    "sources": {"simsum": "SimSUM"},
    "bases": {"recomputed": "from released data", "stand-in": "by another model"},
    "tables": {"simsum": {"Table 5": "F1"}},
}


def test_metrics_of_the_same_rows_share_a_block() -> None:
    table = metric_table(
        {"metric": "precision", "item": "a"},
        {"metric": "recall", "item": "a"},
        {"metric": "recall", "item": "b"},
        {"metric": "words", "item": "c", "value": 120.5, "low": 119.0, "high": 122.0},
    )
    view = metric_view(table, {"recall": "share found"})
    assert [[m["name"] for m in block["metrics"]] for block in view["blocks"]] == [["precision", "recall"], ["words"]]
    first = view["blocks"][0]
    assert first["named"] == ["item"]  # system and condition are constant
    assert view["constant"] == {"system": "compact notes", "condition": "JSON with reasons"}
    assert [row["key"] for row in first["rows"]] == [["a"], ["b"]]
    assert first["rows"][1]["cells"][0] is None
    assert first["metrics"][1]["meaning"] == "share found"


def test_a_cell_holds_value_interval_n_and_unscored() -> None:
    view = metric_view(metric_table({"metric": "recall", "unscored": 3, "n": 1200, "value": 0.51239}), {})
    cell = view["blocks"][0]["rows"][0]["cells"][0]
    assert (cell["value"], cell["interval"], cell["n"], cell["unscored"]) == ("0.512", "0.400 to 0.600", "1,200", 3)
    assert view["unscored"] == 3


def test_bars_are_drawn_only_if_the_whole_column_is_in_0_to_1() -> None:
    table = metric_table(
        {"metric": "effect", "item": "a"},
        {"metric": "effect", "item": "b", "value": -1.0, "low": -2.0, "high": 0.5},
        {"metric": "share", "item": "a"},
    )
    cells = [row["cells"] for row in metric_view(table, {})["blocks"][0]["rows"]]
    assert cells[0][0]["bar"] is None
    assert cells[0][1]["bar"] == pytest.approx((40.0, 20.0))


def test_half_an_interval_is_none_and_a_narrow_bar_can_still_be_seen() -> None:
    nan = float("nan")
    table = metric_table(
        {"metric": "half", "low": nan},
        {"metric": "narrow", "low": 0.5, "high": 0.5},
        {"metric": "edge", "low": 0.0, "high": 1.0, "value": nan},
        {"metric": "past", "low": 0.5, "high": 1.01},
    )
    (row,) = metric_view(table, {})["blocks"][0]["rows"]
    half, narrow, edge, past = row["cells"]
    assert (half["interval"], half["bar"]) == ("", None)
    assert narrow["bar"] == (50, 1)
    assert (edge["bar"], edge["value"], edge["sort"]) == ((0, 100), "–", "")
    assert past["bar"] is None and past["interval"] == "0.500 to 1.010"


def test_an_unavailable_metric_is_listed_with_its_requirement() -> None:
    table = metric_table(
        {"metric": "bleu"},
        {"metric": "medcon", "value": None, "low": None, "high": None, "provenance": "absent: needs a licence"},
    )
    view = metric_view(table.astype({"value": float, "low": float, "high": float}), {})
    assert view["absent"] == [("medcon", "needs a licence")]
    assert [m["name"] for block in view["blocks"] for m in block["metrics"]] == ["bleu"]


def test_a_printed_table_becomes_a_matrix_with_verdicts() -> None:
    rows = reproduction_rows(
        {"column": "cough", "published": 0.5, "reproduced": 0.5012},
        {"column": "pain", "published": 0.95, "reproduced": 0.71, "verdict": "fail", "basis": "stand-in: gpt-4o"},
        {"row": "XGBoost-tab", "column": "pain", "published": 0.91, "note": "misprint"},
    )
    (view,) = reproduction_view(rows, NAMES)
    assert (view["source"], view["title"], view["columns"]) == ("SimSUM", "F1", ["cough", "pain"])
    assert view["counts"] == {"pass": 2, "fail": 1}
    first, second = view["rows"]
    assert [cell["published"] for cell in first["cells"]] == ["0.5", "0.95"]
    assert (first["cells"][1]["reproduced"], first["cells"][1]["verdict"]) == ("0.710", "fail")
    assert second["cells"][0] is None
    assert view["notes"] == ["XGBoost-tab, pain: misprint"]
    assert {row["basis"]: row["counts"] for row in by_basis(rows, NAMES)} == {
        "stand-in: gpt-4o": {"fail": 1},
        "recomputed": {"pass": 2},
    }


def test_an_absent_figure_is_a_dash() -> None:
    rows = reproduction_rows({"reproduced": float("nan"), "tolerance": float("nan"), "verdict": "absent"})
    cell = reproduction_view(rows.astype({"reproduced": float}), NAMES)[0]["rows"][0]["cells"][0]
    assert (cell["reproduced"], cell["tolerance"], cell["verdict"]) == ("–", "", "absent")


def test_a_share_is_shown_as_percent_and_sorts_by_its_stored_value() -> None:
    table = metric_table({"metric": "accuracy", "value": 0.9167, "low": 0.8, "high": 1.0})
    cell = metric_view(table, {}, {"accuracy"})["blocks"][0]["rows"][0]["cells"][0]
    assert (cell["value"], cell["interval"], cell["sort"]) == ("91.7%", "80.0% to 100%", "0.9167")


def test_a_reproduced_value_has_one_decimal_more_than_its_column_was_printed_with() -> None:
    rows = reproduction_rows(
        {"row": "a", "column": "count", "published": 12.0, "reproduced": 12.0},
        {"row": "b", "column": "count", "published": 7.0, "reproduced": 7.25},
        {"row": "a", "column": "share", "published": 0.1234, "reproduced": 0.12345678, "tolerance": 0.0005},
        {"row": "b", "column": "share", "published": 0.2, "reproduced": 0.0},
    )
    (view,) = reproduction_view(rows, NAMES)
    cells = [[(cell["published"], cell["reproduced"]) for cell in row["cells"]] for row in view["rows"]]
    assert cells == [[("12", "12"), ("0.1234", "0.1235")], [("7", "7.2"), ("0.2000", "0.0000")]]
    assert view["rows"][0]["cells"][1]["tolerance"] == "0.0005"


def test_a_note_of_several_cells_is_shown_once_without_their_names() -> None:
    rows = reproduction_rows(*({"column": c, "note": n} for c, n in (("a_b", "own"), ("c", "shared"), ("d", "shared"))))
    assert reproduction_view(rows, NAMES)[0]["notes"] == ["BN-tab, a b: own", "shared"]


def test_a_table_with_more_metrics_than_rows_is_shown_with_metrics_as_rows() -> None:
    def upright(metrics: int, items: int) -> bool:
        rows = ({"metric": f"m{m}", "item": f"i{i}"} for m in range(metrics) for i in range(items))
        return bool(metric_view(metric_table(*rows), {})["blocks"][0]["upright"])

    assert [upright(*size) for size in ((6, 2), (7, 2), (7, 7), (8, 7))] == [False, True, False, True]
    printed = [{"row": row, "column": f"c_{n}"} for row in "ab" for n in range(7)]
    (view,) = reproduction_view(reproduction_rows(*printed), NAMES)
    assert view["columns"] == ["a", "b"] and [row["row"] for row in view["rows"]] == [f"c {n}" for n in range(7)]
    assert all(cell is not None for row in view["rows"] for cell in row["cells"])


def test_n_is_said_once_where_all_rows_have_the_same() -> None:
    rows = [{"metric": "x", "item": item, "n": 1200} for item in "ab"]
    assert metric_view(metric_table(*rows), {})["n"] == "1,200"
    assert metric_view(metric_table(*rows, {"metric": "y", "n": 3}), {})["n"] == ""


def test_conditions_items_and_metrics_are_in_words_and_systems_are_named_as_the_user_does() -> None:
    table = metric_table(
        {"metric": "rouge1_f", "item": "descriptor_lost", "system": "claim_recall"},
        {"metric": "rouge1_f", "item": "claim_recall and rouge1_r", "system": "my_model"},
    )
    (block,) = metric_view(table, {})["blocks"]
    assert block["metrics"][0]["label"] == "ROUGE-1 F"
    assert [row["key"] for row in block["rows"]] == [
        ["claim_recall", "description left out"],
        ["my_model", "claim recall and ROUGE-1 recall"],
    ]
    (block,) = metric_view(table, {}, own_systems=False)["blocks"]
    assert [row["key"][0] for row in block["rows"]] == ["claim recall", "my model"]


def test_printed_tables_are_in_the_order_of_their_numbers() -> None:
    rows = reproduction_rows(*({"table": f"Table {name}"} for name in ("11", "2", "1", "3b", "3a", "20")))
    assert [view["table"] for view in reproduction_view(rows, NAMES)] == [
        f"Table {name}" for name in ("1", "2", "3a", "3b", "11", "20")
    ]
