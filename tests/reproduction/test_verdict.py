"""Verdicts depend on the numbers only."""

import numpy as np
import pandas as pd
import pytest

from schemas.tables.metrics import REPRODUCTION_ROWS
from tasks.reproduction.published import absent_rows, items, judge, load_published, printed_cells


def row(published: float, reproduced: float, tolerance: float, basis: str = "exact") -> pd.DataFrame:
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
