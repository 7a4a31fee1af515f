"""Each table and figure of the four papers is accounted for."""

import re
from pathlib import Path

import pandas as pd
import pytest

from flows.commands.papers import JUDGED, PAGE, README, all_rows, page, readme
from schemas.tables.metrics import BASES
from tasks.reporting.page import tiles
from tasks.reproduction.page import class_counts, known_rows
from tasks.reproduction.published import items, papers, printed_cells
from tests.reproduction.test_verdict import row

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
