"""The second page of the report: printed figures and conclusions of the papers, and the tables of outside data."""

import re
from collections.abc import Mapping
from typing import Any

import pandas as pd

from schemas.tables.metrics import basis_kind
from tasks.papers.conclusions import FAILS, HOLDS, counts_line, shown, tested, undecided
from tasks.papers.printed import items, short_titles
from tasks.reporting.display import decimals, fixed, paragraph, settings, words
from tasks.reporting.sections import Fold, Section
from tasks.reporting.show import Cell, Column, Table, listed

_MARKS = {HOLDS: ("pass", "✓"), FAILS: ("fail", "✗")}
_VERDICTS = {"pass": " ✓", "fail": " ✗", "uninformative": " ○"}
_COUNTED = {"pass": "✓ {} met", "fail": "✗ {} missed", "absent": "– {} absent"}
_WIDEST = 6


def reproduction_section(identifier: str, title: str, rows: pd.DataFrame, remark: str = "") -> Section:
    """Judged figures (REPRODUCTION): counts by basis, and each printed table to be opened."""
    kinds, bases = basis_kind(rows["basis"]), []
    for kind, meaning in settings("words.yaml")["bases"].items():
        for basis in sorted(rows.loc[kinds == kind, "basis"].unique()):
            counts = rows.loc[rows["basis"] == basis, "verdict"].value_counts()
            figures = " ".join(text.format(counts[one]) for one, text in _COUNTED.items() if one in counts)
            bases.append({"basis": basis, "figures": figures, "meaning": meaning})
    groups = sorted(rows.groupby(["source", "table"]), key=lambda group: [*map(_natural, group[0])])
    return Section(
        identifier,
        title,
        [paragraph("printed") + remark],
        tables=[listed(bases, {"basis": "basis", "figures": "figures", "meaning": "meaning"}, kind="wrap")],
        folds=[_printed_table(str(key[0]), str(key[1]), group) for key, group in groups],
    )


def _printed_table(source: str, name: str, group: pd.DataFrame) -> Fold:
    """A printed table with its rows and columns, each value with the printed one."""
    columns, lines = (list(dict.fromkeys(group[part])) for part in ("column", "row"))
    places = {column: decimals(list(of["published"].dropna())) for column, of in group.groupby("column")}
    cells = {(row["row"], row["column"]): _printed_cell(row, places[row["column"]]) for row in group.to_dict("records")}
    if len(columns) > max(_WIDEST, len(lines)):
        cells = {(column, row): found for (row, column), found in cells.items()}
        columns, lines = lines, columns
    rows = [[Cell(words(line)), *(cells.get((line, column)) for column in columns)] for line in lines]
    item = items().get((source, name))
    notes: dict[str, list[str]] = {}  # one of a single cell begins with its row and column
    for row in group.dropna(subset=["note"]).itertuples():
        notes.setdefault(row.note, []).append(words(f"{row.row}, {row.column}"))
    return Fold(
        f"{short_titles().get(source, source)}, {name}",
        f"{item.contents if item else ''} {', '.join(sorted(group['basis'].unique()))}".strip(),
        tables=[Table([Column(""), *(Column(words(column)) for column in columns)], rows)],
        notes=[f"{places[0]}: {note}" if len(places) == 1 else note for note, places in sorted(notes.items())],
        counts=group["verdict"].value_counts().to_dict(),
    )


def _natural(name: str) -> list[tuple[int, str]]:
    """Sort key by which numbers within names are in their order: Table 2 before Table 11."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name)]


def _printed_cell(row: Mapping[Any, Any], places: int) -> Cell:
    """A reproduced value with one decimal more than the printed one, which is below it."""
    whole = places == 0 and pd.notna(row["reproduced"]) and float(row["reproduced"]).is_integer()
    value = fixed(row["reproduced"], 0 if whole else min(places + 1, 4))
    tolerance = "" if pd.isna(row["tolerance"]) else f" ±{row['tolerance']:.3g}"
    note = f"; {row['note']}" if isinstance(row["note"], str) else ""
    return Cell(
        f"{value}{_VERDICTS.get(row['verdict'], '')}",
        small=(f"printed {fixed(row['published'], places)}{tolerance}",),
        sort=value,
        kind=f"{row['verdict']} value",
        title=f"{row['basis']}{f'; tolerance{tolerance}' if tolerance else ''}{note}",
    )


_CONCLUDED = ("conclusion", "verdict", "difference here (95% interval)", "n", "test", "basis", "interval")


def conclusions_section(table: pd.DataFrame) -> Section:
    """CONCLUSIONS by paper, and what nothing here decides."""
    parts = []
    for source, title in short_titles().items():
        rows = []
        for row in table[table["source"] == source].to_dict("records"):
            css, mark = _MARKS.get(row["verdict"], ("", "○"))
            found = [Cell(row["conclusion"]), Cell(f"{mark} {row['verdict']}", kind=css), Cell(shown(row), kind="wrap")]
            found += [Cell(f"{row['n']:,}" if row["n"] else ""), Cell(tested(row))]
            rows.append([*found, Cell(row["basis"], kind="wrap"), Cell(row["interval"], kind="wrap")])
        absent = [one for one in undecided(table) if one["source"] == source]
        missing = listed(absent, {"conclusion": "conclusion", "needs": "what is missing"}, kind="wrap")
        folds = [Fold("Not decided here", str(len(absent)), tables=[missing])] if absent else []
        parts.append(
            Section(f"conclusions-{source}", title, tables=[Table([*map(Column, _CONCLUDED)], rows)], folds=folds)
        )
    return Section(
        "conclusions", "What the papers conclude", [paragraph("conclusions", counts=counts_line(table))], parts=parts
    )
