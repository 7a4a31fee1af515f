"""Verdicts on reproduced figures, and the page of the papers."""

import math
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pandera.errors
import pytest

from schemas.tables.columns import typed
from schemas.tables.metrics import REPRODUCTION_ROWS
from tasks.reporting.page import tiles
from tasks.reproduction.published import (
    absent_rows,
    class_counts,
    items,
    judge,
    known_rows,
    papers,
    printed_cells,
    stand_in,
)
from tests.reproduction.papers import all_rows, written


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


def test_each_table_without_its_figures_is_listed_once_as_absent() -> None:
    nothing = row(1, 1, 1).iloc[:0]
    everything = absent_rows(nothing).set_index(["source", "table"])
    assert sorted(everything.index) == sorted(key for key, item in items().items() if item.needs)
    assert everything["note"].str.startswith("needs ").all()
    assert everything.loc[("doclens", "Table 21"), "row"] == "all"
    assert everything.loc[("ehrnoteqa", "Table 4"), "row"] == "others"  # the other pipeline has those of level 1
    present = row(20.3, 17.4, 10).assign(source="doclens", table="Table 21", column="claim_recall")
    present["row"] = "BART + SAMSum FT (full)"
    part = absent_rows(present).set_index(["source", "table"])
    assert len(part) == len(everything) and part.loc[("doclens", "Table 21"), "row"] == "others"
    whole = [cell.reproduced(0) for cell in printed_cells("ehrnoteqa", "Table 3")]
    assert len(absent_rows(typed(whole, REPRODUCTION_ROWS))) == len(everything) - 1


def test_a_stand_in_names_its_model() -> None:
    assert stand_in("gpt-4o") == "stand-in: gpt-4o"
    REPRODUCTION_ROWS.validate(row(1.0, 1.0, 0.0, stand_in("gpt-4o")))
    for basis in ("stand-in", "fitted"):
        with pytest.raises(pandera.errors.SchemaError, match="basis"):
            REPRODUCTION_ROWS.validate(row(1.0, 1.0, 0.0, basis))


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


def test_a_table_that_one_pipeline_reproduces_is_not_absent():
    """Others of its figures may be."""
    absent = row(math.nan, math.nan, math.nan, "absent").assign(row="all", column="all", verdict="absent")
    there = row(1, 1, 0).assign(verdict="pass")
    assert known_rows([absent, there])["verdict"].tolist() == ["pass"]
    assert known_rows([absent.assign(row="others"), there])["verdict"].tolist() == ["pass", "absent"]


def test_the_written_files_are_up_to_date():
    for file, text in written().items():
        assert file.read_text(encoding="utf-8") == text, f"{file}: run python -m tests.reproduction.papers"


def test_readme_and_the_report_count_the_same(rows):
    shown = {tile["value"] for tile in tiles(*[rows.head(0).assign(attempt=0, consistent=True)] * 3, rows)}
    readme = Path("README.md").read_text(encoding="utf-8")
    for met, told in class_counts(rows).values():
        assert f"{met:,} of {told:,}" in shown and f"| {met:,} of {told:,} |" in readme


def test_counts_are_by_kind_of_basis_and_leave_out_absent_tables():
    judged = [row(1, 1, 0, stand_in(model)).assign(verdict=verdict) for model in "ab" for verdict in ("pass", "fail")]
    judged.append(row(1, 1, 0, "absent").assign(verdict="absent"))
    assert class_counts(pd.concat(judged)) == {"stand-in": (2, 4)}
