"""Verdicts on reproduced figures, and the page of the papers."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from flows.commands.papers import JUDGED, PAGE, README, all_rows, page, readme
from schemas.tables.metrics import BASES, REPRODUCTION_ROWS
from tasks.reporting.page import tiles
from tasks.reproduction.page import class_counts, known_rows
from tasks.reproduction.published import absent_rows, items, judge, load_published, papers, printed_cells


def row(published: float, reproduced: float, tolerance: float, basis: str = "recomputed") -> pd.DataFrame:
    values = ["simsum", "Table 7", "r", "c", published, reproduced, tolerance, basis, None]
    return pd.DataFrame([values], columns=list(REPRODUCTION_ROWS.columns))


@pytest.mark.parametrize(
    ("cells", "verdict"),
    [
        (row(0.48, 0.484, 0.005), "pass"),
        (row(0.48, 0.486, 0.005), "fail"),
        (row(4.7, 4.8, 0.1), "pass"),  # a difference of exactly the tolerance, slightly more in floating point
        (row(0.48, np.nan, 0.005), "fail"),  # a missing value fails; it is not absent
        (row(0.48, 0.48, np.nan), "fail"),
        (row(0.48, np.nan, np.nan, "absent"), "absent"),
    ],
)
def test_verdict(cells: pd.DataFrame, verdict: str) -> None:
    assert judge(cells)["verdict"].tolist() == [verdict]


def rows_of(table: str, *cells: tuple[str, str, float, float, float], source: str = "simsum") -> pd.DataFrame:
    found = [
        row(*numbers).assign(source=source, table=table, row=name, column=column) for name, column, *numbers in cells
    ]
    return judge(pd.concat(found, ignore_index=True)).set_index(["row", "column"])


def test_figures_are_permuted_within_their_column() -> None:
    """Ours are 0.1, 0.5 and 0.9: with tolerance 0.1 one of three fits each cell, with 0.5 two or all."""
    found = rows_of("Table 7", ("a", "p", 0.1, 0.1, 0.1), ("b", "p", 0.5, 0.5, 0.5), ("c", "p", 0.9, 0.9, 0.45))
    assert found["null_pass"].tolist() == pytest.approx([1 / 3, 1, 2 / 3])
    assert found["verdict"].tolist() == ["pass", "uninformative", "uninformative"]
    two = rows_of("Table 7", ("a", "p", 1, 1, 0), ("b", "p", 2, 3, 0), ("alone", "q", 1, 1, 0))
    assert two.loc[("a", "p"), "null_pass"] == 0.5 and two.loc[("b", "p"), "null_pass"] == 0
    assert np.isnan(two.loc[("alone", "q"), "null_pass"])
    assert two["verdict"].to_dict() == {("a", "p"): "pass", ("b", "p"): "fail", ("alone", "q"): "pass"}


def test_lines_of_different_statistics_are_permuted_within_their_row() -> None:
    found = rows_of("Table 3a", ("words", "a", 9, 9, 1), ("words", "b", 8, 8, 1), ("share", "a", 0.5, 0.5, 0.1))
    assert found.loc["words", "null_pass"].tolist() == [1, 1]
    assert np.isnan(found.loc[("share", "a"), "null_pass"])


def test_a_correlation_near_0_is_met_by_unrelated_pairs() -> None:
    """Of 40 pairs: the standard error of Fisher's z is 1 / sqrt(37), the tolerance that of two samples."""
    tolerance = 1.96 * (1 / 113 + 1 / 37) ** 0.5
    cells = ("a", "x", 0.0, 0.1, tolerance), ("b", "x", 0.9, 0.8, tolerance)
    found = rows_of("Table 2", *cells, source="medomit")
    within = 2 * norm.cdf(np.arctanh(tolerance) * 37**0.5) - 1
    assert found.loc[("a", "x"), "null_pass"] == pytest.approx(within, abs=1e-6)
    assert found.loc[("b", "x"), "null_pass"] < 0.01
    assert found["verdict"].tolist() == ["uninformative", "pass"]


def test_a_judge_that_reads_no_claim_gives_the_mean_of_the_others_in_the_section() -> None:
    printed = [("plan / a", "r", 50, 50, 5), ("plan / b", "r", 52, 52, 5), ("plan / c", "r", 90, 90, 5)]
    found = rows_of("Table 25", *printed, ("exam / a", "r", 1, 1, 5), source="doclens")
    assert found.loc[("plan / c", "r"), "null_pass"] == 0 and found.loc[("plan / c", "r"), "verdict"] == "pass"
    assert found.loc[("plan / a", "r"), "null_pass"] == pytest.approx(0.25, abs=0.05)  # both draws are b
    assert np.isnan(found.loc[("exam / a", "r"), "null_pass"])
    cells = [(f"plan / {name}", "r", value, value, 0.2) for name, value in (("a", 0.3), ("b", 0.1), ("c", 0.1))]
    edge = rows_of("Table 25", *cells, ("plan / of another kind", "r", 9, 9, 0.3), source="doclens")
    assert edge["null_pass"].tolist()[0] == 1  # a distance of exactly the tolerance passes
    assert np.isnan(edge["null_pass"].iloc[-1])


def test_printed_tables_without_a_row_are_listed_as_absent() -> None:
    nothing = row(1, 1, 1).iloc[:0]
    everything = absent_rows(nothing)
    named = set(zip(everything["source"], everything["table"], strict=True))
    assert named == {key for key, item in items().items() if item.needs}
    assert everything["note"].str.startswith("needs ").all()
    present = row(20.3, 17.4, 10).assign(source="doclens", table="Table 21", column="claim_recall")
    present["row"] = "BART + SAMSum FT (full)"
    assert len(absent_rows(present)) == len(everything) - 1  # the other cells of the table are still absent


def test_a_printed_dash_is_not_a_cell() -> None:
    table = load_published("doclens_table21_aci_gpt4")
    assert len(printed_cells("doclens", "Table 21")) == table.select_dtypes("number").notna().to_numpy().sum()


def test_a_cell_has_the_tolerance_and_the_misprint_that_the_data_file_gives_it() -> None:
    days = {(cell.row, cell.column): cell for cell in printed_cells("simsum", "Table 8")}
    misprint = days["dyspnea=no cough=yes pain=no nasal=yes fever=high", "predicted_without"]
    assert (misprint.published, misprint.tolerance) == (4.7, 0.1) and str(misprint.note).startswith("misprint")
    assert {cell.tolerance for cell in days.values() if cell.note is None} == {0.05}
    absent, elsewhere = misprint.absent("needs x"), misprint.reproduced(5, "sampled", tolerance=1, note="of 3 draws")
    assert (absent["basis"], absent["note"]) == ("absent", "needs x") and np.isnan(absent["tolerance"])
    assert (elsewhere["reproduced"], elsewhere["tolerance"], elsewhere["note"]) == (5, 1, "of 3 draws")


PRINTED = {"simsum": (9, 10), "medomit": (5, 14), "ehrnoteqa": (7, 3), "doclens": (36, 9)}
"""Numbers of the last table and figure of each paper."""
FOLDER = Path("tasks/reproduction/published")


@pytest.fixture(scope="module")
def rows():
    return all_rows()


@pytest.mark.parametrize("source", PRINTED)
def test_every_table_and_figure_is_listed(source):
    names = [item.name for item in items().values() if item.source == source]
    for kind, last in zip(("Table", "Figure"), PRINTED[source], strict=True):
        found = {int(number) for name in names for number in re.findall(rf"^{kind} (\d+)", name)}
        assert found == set(range(1, last + 1))
    assert len(names) == len(set(names)) and papers()[source]


def test_every_item_has_a_command_or_a_requirement_or_names_its_counterpart(rows):
    tables = set(zip(rows["source"], rows["table"], strict=True))
    for item in items().values():
        assert bool(item.instead) != bool(item.command or item.needs), item
        assert not item.printed or (item.source, item.name) in tables, item


def test_every_judged_row_and_every_printed_table_belongs_to_an_item(rows):
    listed = set(items())
    assert set(zip(rows["source"], rows["table"], strict=True)) <= listed
    assert {item.printed for item in items().values()} - {None} == {file.stem for file in FOLDER.glob("*.csv")}


def test_every_printed_figure_with_a_requirement_has_one_row(rows):
    keys = rows.groupby(["source", "table", "row", "column"]).size()
    for item in items().values():
        if not (item.printed and item.needs):
            continue
        cells = printed_cells(item.source, item.name)
        wanted = [cell for cell in cells if not item.absent or cell.figure in item.absent]
        found = [keys.get((cell.source, cell.table, cell.row, cell.column), 0) for cell in wanted]
        assert set(found) == {1}, item.name


def test_a_cell_that_one_pipeline_reproduces_is_not_absent():
    here = row(1, float("nan"), float("nan"), "absent").assign(verdict="absent")
    there = row(1, 1, 0).assign(verdict="pass")
    assert known_rows([here, there])["verdict"].tolist() == ["pass"]


def test_the_page_is_up_to_date(rows):
    assert set(rows["basis"]) <= set(BASES)
    assert PAGE.read_text(encoding="utf-8") == page(), "run vignette papers"


def test_readme_the_page_and_the_report_count_the_same(rows):
    assert README.read_text(encoding="utf-8") == readme(), "run vignette papers"
    files = [pd.read_csv(file) for file in JUDGED]
    shown = {tile["value"] for tile in tiles(*[rows.head(0).assign(attempt=0, consistent=True)] * 3, known_rows(files))}
    for met, told in class_counts(rows).values():
        assert f"{met:,} of {told:,}" in shown and f"| {met:,} of {told:,} |" in readme()


def test_counts_leave_out_what_says_nothing():
    verdicts = ("pass", "fail", "uninformative", "absent")
    judged = pd.concat([row(1, 1, 0, "fitted").assign(verdict=verdict) for verdict in verdicts])
    assert class_counts(judged) == {"fitted": (1, 2)}
