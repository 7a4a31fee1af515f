"""Verdicts depend on the numbers only."""

import numpy as np
import pandas as pd
import pytest

from schemas.tables.metrics import REPRODUCTION_ROWS
from tasks.reproduction.published import NEEDS, absent_rows, cells, load_published
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
    assert set(everything["table"]) == {table for _, table, _ in NEEDS.values()}
    assert everything["note"].str.startswith("needs ").all()
    present = row(1, 1, 1).assign(source="doclens", table="Table 21")
    assert "Table 21" not in set(absent_rows(present)["table"])


def test_a_printed_dash_is_not_a_cell() -> None:
    table = load_published("doclens_table21_aci_gpt4")
    assert len(cells(table)) == table.select_dtypes("number").notna().to_numpy().sum()
