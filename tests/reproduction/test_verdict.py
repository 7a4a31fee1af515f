"""Verdicts depend on the numbers only."""

import numpy as np
import pandas as pd
import pytest

from schemas.tables.metrics import REPRODUCTION_ROWS
from tasks.reproduction.papers import items
from tasks.reproduction.published import absent_rows, cells, load_published
from tasks.reproduction.verdict import judge


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
    assert named == {(item.source, item.name) for item in items() if item.needs}
    assert everything["note"].str.startswith("needs ").all()
    present = row(20.3, 17.4, 10).assign(source="doclens", table="Table 21", column="claim_recall")
    present["row"] = "BART + SAMSum FT (full)"
    assert len(absent_rows(present)) == len(everything) - 1  # the other cells of the table are still absent


def test_a_printed_dash_is_not_a_cell() -> None:
    table = load_published("doclens_table21_aci_gpt4")
    assert len(cells(table)) == table.select_dtypes("number").notna().to_numpy().sum()
