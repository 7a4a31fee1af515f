"""What the papers print: their tables and figures (``<paper>.yaml``), and the figures in them (``printed/*.csv``)."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from typing import Any

import pandas as pd
import yaml

SOURCES = sorted(
    (file.name[:-5] for file in files("tasks.papers").iterdir() if file.name[-5:] == ".yaml"), reverse=True
)
"""The papers, by their files."""
SIMSUM = "SimSUM"
"""``source`` of the network that SimSUM's printed tables are about."""


@dataclass(frozen=True)
class Cell:
    """One printed figure of an item; ``tolerance`` is that of an exact reproduction, ``note`` may name a misprint.

    ``line``: number of its line in the printed table; ``labels``: the texts of that line; ``figure``: its column there.
    """

    item: "Item"
    row: str
    column: str
    published: float
    tolerance: float = math.nan
    note: str | None = None
    line: int = 0
    labels: Mapping[str, str] = field(default_factory=dict)
    figure: str = ""

    def reproduced(self, value: float, **other: Any) -> dict[str, Any]:
        """A row of REPRODUCTION without its verdict; ``other`` replaces the basis, the tolerance or the note."""
        kept = {name: getattr(self, name) for name in ("row", "column", "published", "tolerance", "note")}
        place = {"source": self.item.source, "table": self.item.name, "basis": self.item.basis}
        return {**place, **kept, "reproduced": value, **other}


@dataclass(frozen=True)
class Item:
    """One table, figure or section with figures; the fields are described at the head of ``simsum.yaml``."""

    source: str
    name: str
    contents: str
    printed: str | None = None
    row: str = ""
    columns: Mapping[str, str] | Sequence[str] = ()
    tolerance: float = math.nan
    cells: Sequence[Mapping[str, Any]] = ()
    answers: Sequence[Mapping[str, Any]] = ()
    further: Sequence[Mapping[str, Any]] = ()
    absent: Sequence[str] = ()
    needs: str = ""
    command: str = ""
    instead: str = ""
    remark: str = ""
    basis: str = "recomputed"

    def cell(self, row: str, column: str, published: float, **more: Any) -> Cell:
        """A cell of the item with the tolerance and note of all entries of ``cells`` that fit it."""
        known: dict[str, Any] = {"tolerance": self.tolerance}
        for entry in self.cells:
            if fnmatchcase(row, entry.get("row", "*")) and fnmatchcase(column, entry.get("column", "*")):
                known |= {name: value for name, value in entry.items() if name in ("tolerance", "note")}
        return Cell(self, row, column, float(published), **known, **more)

    def absent_line(self, row: str, note: str) -> dict[str, Any]:
        """The row of figures that are not reproduced; ``note`` says what is missing."""
        cell = Cell(self, row, "all", math.nan, note=note)
        return cell.reproduced(math.nan, basis="absent")

    def printed_cells(self) -> list[Cell]:
        """The figures of the printed table, line by line; none of an item without one."""
        if self.printed is None:
            return []
        frame = load_printed(self.printed)
        figures = self.columns or frame.select_dtypes("number").columns
        columns = figures if isinstance(figures, Mapping) else {name: name for name in figures}
        texts = frame.select_dtypes(exclude="number").columns
        row = self.row or " / ".join(f"{{{name}}}" for name in texts)
        found = []
        for line, values in enumerate(frame.to_dict("records")):
            labels = {str(name): "" if pd.isna(values[name]) else str(values[name]) for name in texts}
            for figure, column in columns.items():
                if pd.notna(value := values[figure]):
                    names = row.format(**labels), column.format(**labels)
                    found.append(self.cell(*names, value, line=line, labels=labels, figure=figure))
        return found


@cache
def papers() -> Mapping[str, Mapping[str, Any]]:
    """What each paper's file holds, by source: title, items, conclusions, undecided, and reasons for ``unpaired``."""
    folder = files("tasks.papers")
    texts = {source: folder.joinpath(f"{source}.yaml").read_text(encoding="utf-8") for source in SOURCES}
    return {source: yaml.load(text, Loader=yaml.CSafeLoader) for source, text in texts.items()}


def short_titles() -> dict[str, str]:
    """Name of each paper by source: its title up to the colon."""
    return {source: paper["title"].partition(":")[0] for source, paper in papers().items()}


@cache
def items() -> Mapping[tuple[str, str], Item]:
    """All items by source and name, by paper and in printed order."""
    return {
        (source, name): Item(source, name, **entry)
        for source, paper in papers().items()
        for name, entry in paper["items"].items()
    }


def load_printed(stem: str) -> pd.DataFrame:
    """The printed table ``printed/<stem>.csv``; empty cells are dashes in print."""
    with (files("tasks.papers").joinpath("printed") / f"{stem}.csv").open(encoding="utf-8") as source:
        return pd.read_csv(source)
