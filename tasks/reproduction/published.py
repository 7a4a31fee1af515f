"""The printed tables of the four papers, their figures as cells, and verdicts on reproduced figures.

``papers.yaml`` lists every table and figure with the tolerances and misprints of its cells; the printed tables are in
``published/*.csv``.

A comparison says something only if figures that know nothing of the printed ones would miss them. ``null_pass`` is the
share of such null figures that are within a row's tolerance:

- ``column``: our figures permuted within the column, so that each is as likely as another;
- ``row``: the same within the row, for tables whose lines are different statistics;
- ``correlation``: the correlation of as many unrelated pairs (Fisher's transformation);
- ``no claim``: a judge that reads no claim, whose figure is the mean of a resample of the other printed figures of the
  section, among systems of one kind, which have one tolerance; there must be two others.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import yaml
from scipy.stats import norm

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
    null_model: str = "column"
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


UNINFORMATIVE = 0.5
"""A row that more null figures than this would pass says nothing."""
NULL_DRAWS, _NULL_STREAM = 1000, 61
_PAIRS_OF_PRINTED = 116 - 3
_NORMAL = 1.96


def judge(rows: pd.DataFrame) -> pd.DataFrame:
    """Add ``null_pass`` and the verdict to rows of schemas.tables.metrics.REPRODUCTION_ROWS.

    ``absent`` are the rows of that basis, ``uninformative`` those that most null figures would pass; the others
    ``pass`` or ``fail``. A missing value of another basis fails.
    """
    rows = rows.sort_values(KEY, ignore_index=True)
    difference = (rows["published"] - rows["reproduced"]).abs()
    within = difference <= rows["tolerance"] + _ROUNDING  # NaN compares as False
    null_pass = null_shares(rows)
    cases = {"absent": rows["basis"] == "absent", "uninformative": null_pass > UNINFORMATIVE, "pass": within}
    verdict = np.select(list(cases.values()), list(cases), "fail")
    return rows.assign(null_pass=null_pass, verdict=pd.Series(verdict, index=rows.index, dtype="str"))


def null_shares(rows: pd.DataFrame) -> pd.Series:
    """The share of null figures within the tolerance of each row (0-1); nan for rows without one.

    A figure has no null if it is the only one of its column or row, one of two of its section, or absent.
    """
    shares = pd.Series(np.nan, index=rows.index)
    judged = rows[(rows["basis"] != "absent") & rows["reproduced"].notna()]
    for (source, table), of_table in judged.groupby(["source", "table"]):
        item = items().get((str(source), str(table)))
        null = item.null_model if item else "column"
        section = of_table["row"].str.rpartition(" / ")[0]
        places = {"row": [of_table["row"]], "no claim": [of_table["column"], section, of_table["tolerance"]]}
        least = 3 if null == "no claim" else 2
        for _, group in of_table.groupby(places.get(null, [of_table["column"]])):
            if null == "correlation" or len(group) >= least:
                shares[group.index] = NULLS.get(null, _permuted)(group)
    return shares


def _permuted(group: pd.DataFrame) -> npt.NDArray[np.float64]:
    """In a random permutation each figure of the group is as likely as another: the share is exact, without draws."""
    published, reproduced, tolerance = (group[n].to_numpy(float) for n in ("published", "reproduced", "tolerance"))
    within: npt.NDArray[np.bool_] = np.abs(published[:, None] - reproduced) <= tolerance[:, None] + _ROUNDING
    return within.mean(axis=1)


def _unrelated(group: pd.DataFrame) -> npt.NDArray[np.float64]:
    """Correlations of n unrelated pairs, n as the tolerance was computed from it; exact by Fisher's transformation."""
    published, tolerance = group["published"].to_numpy(float), group["tolerance"].to_numpy(float)
    error = np.sqrt(np.maximum((tolerance / _NORMAL) ** 2 - 1 / _PAIRS_OF_PRINTED, 1e-12))
    low, high = (np.arctanh(np.clip(published + sign * tolerance, -0.999999, 0.999999)) for sign in (-1, 1))
    return np.asarray(norm.cdf(high / error) - norm.cdf(low / error))


def _unread(group: pd.DataFrame) -> npt.NDArray[np.float64]:
    published, tolerance = group["published"].to_numpy(float), group["tolerance"].to_numpy(float)
    random, shares = np.random.default_rng(_NULL_STREAM), np.empty(len(group))
    for place in range(len(group)):
        others = np.delete(published, place)
        drawn = random.choice(others, size=(NULL_DRAWS, len(others))).mean(axis=1)
        shares[place] = (np.abs(drawn - published[place]) <= tolerance[place] + _ROUNDING).mean()
    return shares


NULLS = {"column": _permuted, "row": _permuted, "correlation": _unrelated, "no claim": _unread}
