"""Metric tables are pivoted for pages and terminals without loss, and a paper's rows are chosen from them."""

from tasks.reporting.sections import all_rows
from tasks.reporting.show import Cell, Column, Table, Wording, differences, main_rows, show, terminal
from tests.support.cases import each
from tests.support.report_page import metric_table

NAN = float("nan")


def labels(table: Table) -> list[str]:
    return [column.label for column in table.columns]


def values(table: Table) -> list[list[str]]:
    return [[one.value if one else "" for one in row] for row in table.rows]


def test_metrics_of_the_same_rows_share_a_table() -> None:
    rows = metric_table(
        {"metric": "precision", "item": "a"},
        {"metric": "recall", "item": "a", "n": 20},
        {"metric": "recall", "item": "b"},
        {"metric": "words", "item": "c", "value": 120.5, "low": 119.0, "high": 122.0},
    )
    shown = show(rows, Wording({"recall": "share found"}, keys={"item": "part"}))
    first, second = shown.tables
    assert (labels(first), labels(second)) == (["part", "precision", "recall"], ["part", "words"])
    assert values(first) == [["a", "0.500", "0.500"], ["b", "", "0.500"]] and first.rows[1][1] is None
    assert first.columns[2] == Column("recall", "share found") and (first.heads, first.n) == (1, True)
    assert (shown.rows, shown.n) == (3, "")
    assert shown.constant == {"system": "compact notes", "condition": "JSON with reasons"}


def test_a_cell_holds_value_interval_n_and_unscored_and_sorts_by_its_stored_value() -> None:
    row = {"metric": "recall", "unscored": 3, "n": 1200, "value": 0.51239}
    shown = show(metric_table(row), Wording(shares=["recall"]), n_once=True)
    cell = shown.tables[0].rows[0][1]
    assert cell is not None and (cell.value, cell.interval, cell.n, cell.unscored, cell.sort) == (
        "51.2%", "40.0% to 60.0%", 1200, 3, "0.51239",
    )  # fmt: skip
    assert cell.line() == "51.2% (40.0–60.0) n 1200/1203"
    assert (shown.unscored, shown.n, shown.tables[0].n) == (3, "1,200", False)
    assert all_rows(shown, "t").small == "up to 3 unscored in a row" and all_rows(shown, "t", small="s").small == "s"


def test_a_figure_of_no_records_is_not_said_to_be_exact_and_one_that_lacks_all_has_its_n() -> None:
    exact = metric_table({"metric": "effect", "n": 0, "unscored": 0, "low": NAN, "high": NAN})
    lost = metric_table({"metric": "effect", "n": 0, "unscored": 4, "value": NAN, "low": NAN, "high": NAN})
    lines = [cell.line() for table in (exact, lost) if (cell := show(table).tables[0].rows[0][1])]
    assert lines == ["0.500, not from records", "– n 0/4"]


def test_bars_and_intervals() -> None:
    def bars(*rows: dict) -> list:
        table = metric_table(*({"metric": f"m{n}", "item": str(n // 2)} | row for n, row in enumerate(rows)))
        return [one and (one.interval, one.bar) for row in show(table).tables[0].rows for one in row[1:] if one]

    half, narrow, edge, past = {"low": NAN}, {"low": 0.5, "high": 0.5}, {"low": 0.0, "high": 1.0}, {"high": 1.01}
    assert bars(half, narrow) == [("", None), ("0.500 to 0.500", (50, 1))], "a narrow one can still be seen"
    assert bars(edge, past) == [("0 to 1", (0, 100)), ("0.400 to 1.010", None)]
    effect = [{"metric": "effect", "item": "a"}, {"metric": "effect", "item": "b", "value": -1.0, "low": -2.0}]
    (first, *_), *_ = (row[1:] for row in show(metric_table(*effect)).tables[0].rows)
    assert first is not None and first.bar is None, "only if the whole column has them"


def test_an_unavailable_metric_is_listed_with_its_requirement() -> None:
    absent = {"metric": "medcon", "value": NAN, "low": NAN, "high": NAN, "provenance": "absent: needs a licence"}
    shown = show(metric_table({"metric": "bleu"}, absent))
    assert shown.absent == [("medcon", "needs a licence")] and labels(shown.tables[0]) == ["system", "BLEU"]


@each("metrics, items, upright", [(6, 2, False), (7, 2, True), (7, 7, False), (8, 7, True)])
def test_a_table_with_more_metrics_than_rows_has_metrics_as_rows(metrics: int, items: int, upright: bool) -> None:
    rows = ({"metric": f"m{m}", "item": f"i{i}"} for m in range(metrics) for i in range(items))
    (table,) = show(metric_table(*rows)).tables
    assert (labels(table)[0] == "metric") == upright and len(table.rows) == (metrics if upright else items)


def test_conditions_items_and_metrics_are_in_words_and_systems_are_named_as_the_user_does() -> None:
    rows = metric_table(
        {"metric": "rouge1_f", "item": "descriptor_lost", "system": "claim_recall"},
        {"metric": "rouge1_f", "item": "claim_recall and rouge1_r", "system": "my_model"},
    )
    (table,) = show(rows).tables
    assert labels(table) == ["system", "item", "ROUGE-1 F"]
    assert [row[:2] for row in values(table)] == [
        ["claim_recall", "description left out"],
        ["my_model", "claim recall and ROUGE-1 recall"],
    ]
    (table,) = show(rows, Wording(own_systems=False)).tables
    assert [row[0] for row in values(table)] == ["claim recall", "my model"]


def test_a_paper_prints_values_of_all_items_and_no_spreads_unless_they_are_chosen_and_never_too_many() -> None:
    names = ["recall", "recall_std", "p_value"]
    rows = metric_table(*({"metric": metric, "item": item} for metric in names for item in ("all", "plan")))
    assert main_rows(rows)[["metric", "item"]].to_numpy().tolist() == [["recall", "all"]]
    assert set(main_rows(rows, ["p_value"])["metric"]) == {"p_value"}
    many = metric_table(*({"metric": "recall", "item": str(n)} for n in range(11)))
    assert (len(main_rows(many.head(10))), len(main_rows(many))) == (10, 0)


def test_a_value_that_is_not_possible_is_marked() -> None:
    names = {
        "recall_corrected": 1.02,
        "recall_corrected_possible": 0,
        "words_corrected": 3,
        "words_corrected_possible": 1,
    }
    rows = metric_table(*({"metric": metric, "item": "all", "value": value} for metric, value in names.items()))
    shown = show(main_rows(rows, ["recall_corrected", "words_corrected"])).tables[0].rows[0]
    assert [cell.small for cell in shown[1:] if cell] == [("not possible",), ()]


def test_differences_have_both_sides_an_interval_p_and_a_mark_beyond_chance() -> None:
    beyond = {"name": "x", "a": 0.5, "b": 0.75, "difference": 0.25, "low": 0.1, "high": 0.4, "p": 0.0004, "n": 9}
    beyond |= {"changed": True, "note": "", "failed": 2, "bound_low": -0.1, "bound_high": 0.3}
    other = beyond | {"difference": -0.25, "p": NAN, "low": NAN, "changed": False, "detectable": 0.2, "note": "few"}
    more = {"failed": "failed", "bound": "worst case"}
    table = differences([beyond, other], {"what": lambda row: row["name"]}, ("before", "now"), more=more)
    assert labels(table) == ["what", "before", "now", "difference", "p, adjusted", "n", "failed", "worst case"]
    first, second = values(table)
    assert first == ["x", "0.500", "0.750", "+0.250", "<0.001 ●", "9", "2", "−0.100 to +0.300"]
    assert second[3:5] == ["−0.250", "not tested"]
    assert [table.rows[n][3].small for n in (0, 1)] == [("+0.100 to +0.400",), ("80% power from 0.200",)]  # type: ignore[union-attr]


def test_a_terminal_has_a_line_for_a_row_and_breaks_places_that_do_not_fit() -> None:
    cell = Cell("31%", "20% to 40%", n=4, partial=1)
    table = Table([Column(""), Column("[1]"), Column("[2]")], [[Cell("claim recall"), cell, None]])
    head, line = terminal(table).split("\n")
    assert head.split() == ["[1]", "[2]"] and line == "claim recall  31% (20–40) n 4, 1 in part  –"
    narrow = terminal(table, 24).split("\n")
    assert len(narrow) > 2 and max(map(len, narrow)) <= 24
    assert Cell("–", n=0, unscored=3).line() == "– n 0/3" and Cell("1", n=3).line() == "1 (no interval) n 3"
