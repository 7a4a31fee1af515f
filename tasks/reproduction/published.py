"""The printed tables of the four papers, their figures as cells, and verdicts on reproduced figures.

``papers.yaml`` lists every table and figure with the tolerances and misprints of its cells; the printed tables are in
``published/*.csv``.
"""

import math
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
import pandas as pd
import yaml

from schemas.tables.columns import typed
from schemas.tables.metrics import REPRODUCTION_ROWS, basis_kind

KEY = ["source", "table", "row", "column"]
SIMSUM = "SimSUM"
"""``source`` of the network that SimSUM's printed tables are about."""
_ROUNDING = 1e-9  # a difference of exactly the tolerance passes in floating point


@dataclass(frozen=True)
class Cell:
    """One printed figure; ``tolerance`` is that of an exact reproduction, ``note`` names a misprint or the like.

    ``line``: number of its line in the printed table; ``labels``: the texts of that line; ``figure``: its column there.
    ``basis``: of a value that follows from what the paper prints or releases.
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
    basis: str = "recomputed"

    def reproduced(
        self, value: float | None, basis: str | None = None, *, tolerance: float | None = None, note: str | None = None
    ) -> dict[str, Any]:
        """A row of REPRODUCTION_ROWS; a basis, tolerance or note given here replaces that of the cell."""
        return {
            **{name: getattr(self, name) for name in (*KEY, "published")},
            "reproduced": math.nan if value is None else float(value),
            "tolerance": self.tolerance if tolerance is None else float(tolerance),
            "basis": basis or self.basis,
            "note": note or self.note,
        }

    def absent(self, note: str) -> dict[str, Any]:
        """The row of a cell that is not reproduced; ``note`` says what is missing."""
        return self.reproduced(None, "absent", tolerance=math.nan, note=note)


def stand_in(model: str) -> str:
    """The basis of a figure by ``model`` in the place of the paper's model."""
    return f"stand-in: {model}"


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
    basis: str = "recomputed"

    def cell(self, row: str, column: str, published: float, **more: Any) -> Cell:
        """A cell of the item with the tolerance and note of all entries of ``cells`` that fit it."""
        known: dict[str, Any] = {"tolerance": self.tolerance, "basis": self.basis}
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
    """One row of basis ``absent`` for each table with a requirement of which ``present`` lacks figures.

    Its row is named "others" where other figures of the table are reproduced, here or by the other pipeline.
    """
    covered = set(present[KEY].astype("str").itertuples(index=False, name=None))
    tables = {(source, table) for source, table, *_ in covered}
    rows = []
    for item in items().values():
        if item.needs and not _complete(item, covered):
            part = bool(item.absent) or (item.source, item.name) in tables
            line = Cell(item.source, item.name, "others" if part else "all", "all", math.nan)
            rows.append(line.absent(f"needs {item.needs}"))
    return typed(rows, REPRODUCTION_ROWS)


def _complete(item: Item, covered: Set[tuple[str, ...]]) -> bool:
    """Whether each figure of a printed table that the requirement is about has a row."""
    cells = printed_cells(item.source, item.name) if item.printed else []
    wanted = [cell for cell in cells if not item.absent or cell.figure in item.absent]
    return bool(wanted) and all((cell.source, cell.table, cell.row, cell.column) in covered for cell in wanted)


def other_domain_rows(tables: Sequence[str], domain: str) -> pd.DataFrame:
    """REPRODUCTION_ROWS of basis ``absent`` for SimSUM's ``tables`` in a run on ``domain``."""
    note = f"{SIMSUM}'s tables are about another domain than {domain}"
    rows = [Cell("simsum", table, "all", "all", math.nan).absent(note) for table in tables]
    return typed(rows, REPRODUCTION_ROWS)


def judge(rows: pd.DataFrame) -> pd.DataFrame:
    """Add the verdict to rows of schemas.tables.metrics.REPRODUCTION_ROWS.

    ``absent`` are the rows of that basis; the others ``pass`` or ``fail``. A missing value of another basis fails.
    """
    rows = rows.sort_values(KEY, ignore_index=True)
    difference = (rows["published"] - rows["reproduced"]).abs()
    within = difference <= rows["tolerance"] + _ROUNDING  # NaN compares as False
    verdict = np.select([rows["basis"] == "absent", within], ["absent", "pass"], "fail")
    return rows.assign(verdict=pd.Series(verdict, index=rows.index, dtype="str"))


def known_rows(runs: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """The judged rows of several pipelines; a table that one of them reproduces is not absent in whole."""
    rows = pd.concat(runs, ignore_index=True).sort_values("basis", key=lambda basis: basis == "absent", kind="stable")
    whole = (rows["basis"] == "absent") & (rows["row"] == "all")
    return rows[~(whole & rows.duplicated(["source", "table"]))].reset_index(drop=True)


CLASSES = {
    "recomputed": "printed figures recomputed from released data",
    "closed form": "computed from the printed network",
    "arithmetic": "that follow from other printed figures",
    "sampled": "met on our own draws of records",
    "stand-in": "met by another model in place of the paper's",
}
"""What is counted, by kind of basis."""
ABSENT_TABLES = "tables that need data or models which are not at hand, whole or in part"


def class_counts(rows: pd.DataFrame) -> dict[str, tuple[int, int]]:
    """Figures within tolerance and figures compared, by kind of basis; absent tables are left out."""
    kinds = basis_kind(rows["basis"])
    counted = {kind: rows.loc[kinds == kind, "verdict"] == "pass" for kind in CLASSES}
    return {basis: (int(met.sum()), len(met)) for basis, met in counted.items() if len(met)}
