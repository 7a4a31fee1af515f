"""Printed tables beside what reproduces them: one matrix each, with verdicts, notes and counts by basis."""

from tasks.papers.conclusions import conclusions
from tasks.reporting.papers_page import conclusions_section, reproduction_section
from tasks.reporting.sections import Fold
from tests.support.report_page import reproduction_rows

NAN = float("nan")


def folds(*rows: dict) -> list[Fold]:
    return list(reproduction_section("r", "R", reproduction_rows(*rows).astype({"reproduced": float})).folds)


def places(fold: Fold) -> list[list[tuple[str, ...]]]:
    (table,) = fold.tables
    return [[(one.value, *one.small) if one else () for one in row] for row in table.rows]


def test_a_printed_table_becomes_a_matrix_with_verdicts_and_its_title_from_the_paper() -> None:
    rows = (
        {"column": "cough", "published": 0.5, "reproduced": 0.5012},
        {"column": "pain", "published": 0.95, "reproduced": 0.71, "verdict": "fail", "basis": "stand-in: gpt-4o"},
        {"row": "XGBoost-tab", "column": "pain", "published": 0.91, "note": "misprint"},
    )
    (fold,) = folds(*rows)
    assert fold.title == "SimSUM, Table 5" and fold.small.endswith("recomputed, stand-in: gpt-4o")
    assert [column.label for column in fold.tables[0].columns] == ["", "cough", "pain"]
    assert fold.counts == {"pass": 2, "fail": 1} and fold.notes == ["XGBoost-tab, pain: misprint"]
    cough, pain = ("0.50 ✓", "printed 0.5 ±0.01"), ("0.710 ✗", "printed 0.95 ±0.01")
    assert places(fold) == [[("BN-tab",), cough, pain], [("XGBoost-tab",), (), ("0.512 ✓", "printed 0.91 ±0.01")]]
    (bases,) = reproduction_section("r", "R", reproduction_rows(*rows)).tables
    said = [[one.value for one in row[:2] if one] for row in bases.rows]
    assert said == [["recomputed", "✓ 2 met"], ["stand-in: gpt-4o", "✗ 1 missed"]]


def test_an_absent_figure_is_a_dash_and_places_follow_the_print() -> None:
    (fold,) = folds({"reproduced": NAN, "tolerance": NAN, "verdict": "absent", "note": "needs data"})
    assert places(fold)[0][1] == ("–", "printed 0.51") and fold.notes == ["BN-tab, cough: needs data"]
    (fold,) = folds(
        {"row": "a", "column": "count", "published": 12.0, "reproduced": 12.0},
        {"row": "b", "column": "count", "published": 7.0, "reproduced": 7.25},
        {"row": "a", "column": "share", "published": 0.1234, "reproduced": 0.12345678, "tolerance": 0.0005},
        {"row": "b", "column": "share", "published": 0.2, "reproduced": 0.0},
    )
    assert [[one[0].split()[0] for one in row[1:]] for row in places(fold)] == [["12", "0.1235"], ["7.2", "0.0000"]]
    assert places(fold)[0][2][1] == "printed 0.1234 ±0.0005"


def test_wide_tables_are_turned_and_all_are_in_the_order_of_their_numbers() -> None:
    (fold,) = folds(*({"row": row, "column": f"c_{n}"} for row in "ab" for n in range(7)))
    assert [column.label for column in fold.tables[0].columns] == ["", "a", "b"] and len(places(fold)) == 7
    titles = [fold.title for fold in folds(*({"table": f"Table {name}"} for name in ("11", "2", "3b", "3a", "20")))]
    assert titles == [f"SimSUM, Table {name}" for name in ("2", "3a", "3b", "11", "20")]


def test_what_nothing_here_decides_is_listed_under_its_paper_alone() -> None:
    parts = conclusions_section(conclusions({}, strict=False)).parts
    listed = [row[0] for part in parts for fold in part.folds for row in fold.tables[0].rows]
    assert len(parts) > 2 and len(listed) > 5 and len({cell.value for cell in listed if cell}) == len(listed)
