"""Arranges judged reproduction rows for display: one matrix per published table, and counts by basis."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from tasks.reporting.numbers import decimals, fixed


def reproduction_view(rows: pd.DataFrame, names: Mapping[str, Any]) -> list[dict[str, Any]]:
    """One matrix per published table, with its printed rows and columns. ``names``: published.yaml."""
    views = []
    for (source, table), group in rows.groupby(["source", "table"], sort=True):
        columns = list(dict.fromkeys(group["column"]))
        places = {column: _places(group[group["column"] == column]) for column in columns}
        matrix = []
        for row, cells in group.groupby("row", sort=False):
            by_column = {cell.column: _cell(cell, places[cell.column]) for cell in cells.itertuples()}
            matrix.append({"row": row, "cells": [by_column.get(column) for column in columns]})
        views.append(
            {
                "source": names["sources"].get(source, source),
                "table": table,
                "title": names["tables"].get(source, {}).get(table, ""),
                "columns": [column.replace("_", " ") for column in columns],
                "rows": matrix,
                "counts": group["verdict"].value_counts().to_dict(),
                "bases": sorted(group["basis"].unique()),
                "notes": _notes(group),
            }
        )
    return views


def by_basis(rows: pd.DataFrame, names: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Counts of verdicts by basis, with the description of each basis, in the order of ``names``."""
    groups = dict(list(rows.groupby("basis", sort=True)))
    listed = [basis for basis in names["bases"] if basis in groups]
    return [
        {
            "basis": basis,
            "meaning": names["bases"].get(basis, ""),
            "counts": groups[basis]["verdict"].value_counts().to_dict(),
        }
        for basis in dict.fromkeys([*listed, *groups])
    ]


def _places(group: pd.DataFrame) -> int:
    return decimals(list(group["published"].dropna()))


def _cell(cell: Any, places: int) -> dict[str, Any]:
    whole = places == 0 and pd.notna(cell.reproduced) and float(cell.reproduced).is_integer()
    return {
        "published": fixed(cell.published, places),
        "reproduced": fixed(cell.reproduced, 0 if whole else min(places + 1, 4)),
        "tolerance": "" if pd.isna(cell.tolerance) else f"{cell.tolerance:.3g}",
        "basis": cell.basis,
        "verdict": cell.verdict,
        "note": cell.note if isinstance(cell.note, str) else "",
    }


def _notes(group: pd.DataFrame) -> list[str]:
    """Distinct notes; a note of a single cell is prefixed with its row and column."""
    found: dict[str, list[str]] = {}
    for row in group.dropna(subset=["note"]).itertuples():
        found.setdefault(row.note, []).append(f"{row.row}, {row.column.replace('_', ' ')}")
    return [f"{places[0]}: {note}" if len(places) == 1 else note for note, places in sorted(found.items())]
