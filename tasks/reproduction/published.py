"""The printed tables (``published/*.csv``), and the requirements of the figures that are not reproduced."""

from collections.abc import Sequence
from importlib.resources import files

import pandas as pd

from tasks.reproduction.papers import Item, items


def load_published(stem: str) -> pd.DataFrame:
    """The printed table ``published/<stem>.csv``; empty cells are dashes in print."""
    with (files("tasks.reproduction").joinpath("published") / f"{stem}.csv").open(encoding="utf-8") as source:
        return pd.read_csv(source)


def cells(table: pd.DataFrame, labels: Sequence[str] = ()) -> pd.DataFrame:
    """A printed table in long form (row, column, published): each number is a cell.

    ``labels`` name the row; default: all text columns.
    """
    numbers = table.select_dtypes("number").columns
    labels = list(labels) or [name for name in table.columns if name not in numbers]
    row = table[labels].fillna("").agg(" / ".join, axis=1)
    long = table[numbers].assign(row=row).melt(id_vars="row", var_name="column", value_name="published")
    return long.dropna(subset="published").astype({"published": float, "column": "str", "row": "str"})


def absent_rows(present: pd.DataFrame) -> pd.DataFrame:
    """Rows of basis ``absent`` for each printed cell that has a requirement and no row in ``present``."""
    parts = [_absent_cells(item) for item in items() if item.printed and item.needs]
    rows = pd.concat(parts, ignore_index=True)
    keys = ["source", "table", "row", "column"]
    covered = pd.MultiIndex.from_frame(present[keys].astype("str"))
    rows = rows[~pd.MultiIndex.from_frame(rows[keys]).isin(covered)]
    rows = rows.assign(reproduced=float("nan"), tolerance=float("nan"), basis="absent")
    return rows[list(present.columns)].reset_index(drop=True)


def _absent_cells(item: Item) -> pd.DataFrame:
    """The cells of an item that only its requirement could give."""
    long = cells(load_published(str(item.printed)), item.labels)
    if item.absent:
        long = long[long["column"].isin(item.absent)]
    return long.assign(source=item.source, table=item.name, note=f"needs {item.needs}")
