"""The printed tables of the four papers, their figures as cells, and verdicts on reproduced figures.

``papers.yaml`` lists every table and figure with the tolerances and misprints of its cells; the printed tables are in
``published/*.csv``.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
import pandas as pd
import yaml

from schemas.tables.columns import typed
from schemas.tables.metrics import REPRODUCTION_ROWS

KEY = ["source", "table", "row", "column"]
SIMSUM = "SimSUM"
"""``source`` of the network that SimSUM's printed tables are about."""
_ROUNDING = 1e-9  # a difference of exactly the tolerance passes in floating point


@dataclass(frozen=True)
class Cell:
    """One printed figure; ``tolerance`` is that of an exact reproduction, ``note`` names a misprint or the like.

    ``line``: number of its line in the printed table; ``labels``: the texts of that line; ``figure``: its column there.
    """

    source: str
    table: str
    row: str
    column: str
    published: float
    tolerance: float = math.nan
    note: str | None = None
    line: int = 0
    labels: Mapping[str, str] = field(default_factory=dict)
    figure: str = ""

    def reproduced(
        self, value: float | None, basis: str = "exact", *, tolerance: float | None = None, note: str | None = None
    ) -> dict[str, Any]:
        """A row of REPRODUCTION_ROWS; a tolerance or note given here replaces that of the cell."""
        return {
            **{name: getattr(self, name) for name in (*KEY, "published")},
            "reproduced": math.nan if value is None else float(value),
            "tolerance": self.tolerance if tolerance is None else float(tolerance),
            "basis": basis,
            "note": note or self.note,
        }

    def absent(self, note: str) -> dict[str, Any]:
        """The row of a cell that is not reproduced; ``note`` says what is missing."""
        return self.reproduced(None, "absent", tolerance=math.nan, note=note)


@dataclass(frozen=True)
class Item:
    """One table, figure or section with figures; the fields are described at the head of ``papers.yaml``."""

    source: str
    name: str
    contents: str
    printed: str | None = None
    row: str = ""
    columns: Mapping[str, str] | Sequence[str] = ()
    tolerance: float = math.nan
    cells: Sequence[Mapping[str, Any]] = ()
    absent: Sequence[str] = ()
    needs: str = ""
    command: str = ""
    instead: str = ""
    remark: str = ""

    def cell(self, row: str, column: str, published: float, **more: Any) -> Cell:
        """A cell of the item with the tolerance and note of all entries of ``cells`` that fit it."""
        known: dict[str, Any] = {"tolerance": self.tolerance}
        for entry in self.cells:
            if fnmatchcase(row, entry.get("row", "*")) and fnmatchcase(column, entry.get("column", "*")):
                known |= {name: value for name, value in entry.items() if name in ("tolerance", "note")}
        return Cell(self.source, self.name, row, column, float(published), **known, **more)


@cache
def papers() -> Mapping[str, str]:
    """Title of each paper by its source."""
    return {source: paper["title"] for source, paper in _read().items()}


@cache
def items() -> Mapping[tuple[str, str], Item]:
    """All items by source and name, by paper and in printed order."""
    return {
        (source, name): Item(source, name, **entry)
        for source, paper in _read().items()
        for name, entry in paper["items"].items()
    }


@cache
def _read() -> dict[str, Any]:
    with files("tasks.reproduction").joinpath("papers.yaml").open(encoding="utf-8") as source:
        return yaml.load(source, Loader=yaml.CSafeLoader)


def load_published(stem: str) -> pd.DataFrame:
    """The printed table ``published/<stem>.csv``; empty cells are dashes in print."""
    with (files("tasks.reproduction").joinpath("published") / f"{stem}.csv").open(encoding="utf-8") as source:
        return pd.read_csv(source)


def printed_cells(source: str, table: str, printed: pd.DataFrame | None = None) -> list[Cell]:
    """The figures of a printed table, line by line; ``printed`` replaces the table's file."""
    item = items()[source, table]
    frame = load_published(str(item.printed)) if printed is None else printed
    figures = item.columns or frame.select_dtypes("number").columns
    columns = figures if isinstance(figures, Mapping) else {name: name for name in figures}
    texts = frame.select_dtypes(exclude="number").columns
    row = item.row or " / ".join(f"{{{name}}}" for name in texts)
    found = []
    for line, values in enumerate(frame.to_dict("records")):
        labels = {name: "" if pd.isna(values[name]) else str(values[name]) for name in texts}
        for figure, column in columns.items():
            if pd.notna(values[figure]):
                place = {"line": line, "labels": labels, "figure": figure}
                found.append(item.cell(row.format(**labels), column.format(**labels), values[figure], **place))
    return found


def absent_rows(present: pd.DataFrame) -> pd.DataFrame:
    """Rows of basis ``absent`` for each printed cell that has a requirement and no row in ``present``."""
    covered = set(present[KEY].astype("str").itertuples(index=False, name=None))
    rows = [
        cell.absent(f"needs {item.needs}")
        for item in items().values()
        if item.printed and item.needs
        for cell in printed_cells(item.source, item.name)
        if (not item.absent or cell.figure in item.absent)
        and (cell.source, cell.table, cell.row, cell.column) not in covered
    ]
    return typed(rows, REPRODUCTION_ROWS)


def other_domain_rows(tables: Sequence[str], domain: str) -> pd.DataFrame:
    """REPRODUCTION_ROWS of basis ``absent`` for SimSUM's ``tables`` in a run on ``domain``."""
    note = f"{SIMSUM}'s tables are about another domain than {domain}"
    rows = [Cell("simsum", table, "all", "all", math.nan).absent(note) for table in tables]
    return typed(rows, REPRODUCTION_ROWS)


def judge(rows: pd.DataFrame) -> pd.DataFrame:
    """Add the verdict to rows of schemas.tables.metrics.REPRODUCTION_ROWS: ``pass``, ``fail`` or ``absent``.

    Only rows of basis ``absent`` are absent; a missing value of another basis fails.
    """
    difference = (rows["published"] - rows["reproduced"]).abs()
    within = difference <= rows["tolerance"] + _ROUNDING  # NaN compares as False
    verdict = np.where(rows["basis"] == "absent", "absent", np.where(within, "pass", "fail"))
    return rows.assign(verdict=pd.Series(verdict, index=rows.index, dtype="str")).sort_values(KEY, ignore_index=True)
