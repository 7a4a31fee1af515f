"""Pivots metric tables for display; computes no new value.

Arranges judged reproduction rows for display: one matrix per published table, and counts by basis.
"""

import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import networkx as nx
import pandas as pd

from tasks.reporting.display import decimals, fixed, number, percent, words

_KEY = ("system", "condition", "item")
_ABSENT = "absent: "
_WIDEST = 6
"""Columns of values that fit on a page; tables with more columns than rows are shown with metrics as rows."""


def metric_view(
    table: pd.DataFrame, meanings: Mapping[str, str], shares: Collection[str] = (), *, own_systems: bool = True
) -> dict[str, Any]:
    """A long-form metric table as blocks, one per set of metrics that share rows.

    ``shares``: metrics stored in 0-1 and shown as percent. ``own_systems``: systems have names of the user's, which are
    shown as they are; all other names are shown in words. Constant key columns go to ``constant``; unavailable metrics
    go to ``absent``, each with its requirement.
    """
    missing = table["provenance"].str.startswith(_ABSENT) & table["value"].isna()
    shown = table[~missing]
    written: dict[str, Callable[[str], str]] = dict.fromkeys(_KEY, words) | ({"system": str} if own_systems else {})
    constant = {name: shown[name].iloc[0] for name in _KEY if len(shown) and shown[name].nunique() == 1}
    keys = [name for name in _KEY if name not in constant] or ["system"]
    if keys == ["system"]:
        constant.pop("system", None)
    return {
        "constant": {name: written[name](value) for name, value in constant.items() if value != "all"},
        "blocks": [_block(shown, metrics, keys, written, meanings, shares) for metrics in _measured_together(shown)],
        "absent": sorted({(row.metric, row.provenance.removeprefix(_ABSENT)) for row in table[missing].itertuples()}),
        "intervals": bool(shown["low"].notna().any()),
        "rows": len(shown[list(_KEY)].drop_duplicates()),
        "unscored": int(table["unscored"].max()) if len(table) else 0,
        "n": f"{shown['n'].iloc[0]:,}" if shown["n"].nunique() == 1 else "",
    }


def _measured_together(table: pd.DataFrame) -> list[list[str]]:
    """Connected components of metrics that share a row, in order of first appearance."""
    together = nx.Graph()
    together.add_nodes_from(dict.fromkeys(table["metric"]))
    for _, group in table.groupby(list(_KEY), sort=False):
        nx.add_path(together, group["metric"])
    order = list(dict.fromkeys(table["metric"]))
    return [sorted(group, key=order.index) for group in nx.connected_components(together)]


def _block(
    table: pd.DataFrame,
    metrics: list[str],
    keys: list[str],
    written: Mapping[str, Callable[[str], str]],
    meanings: Mapping[str, str],
    shares: Collection[str],
) -> dict[str, Any]:
    by_key: dict[tuple[str, ...], dict[str, dict[str, Any]]] = {}
    shown_keys: dict[tuple[str, ...], list[str]] = {}
    for row in table[table["metric"].isin(metrics)].itertuples():
        key = (row.system, row.condition, row.item)
        by_key.setdefault(key, {})[row.metric] = cell(row._asdict(), percent if row.metric in shares else number)
        shown_keys[key] = [written[name](getattr(row, name)) for name in keys]
    rows: list[dict[str, Any]] = [
        {"key": shown_keys[key], "cells": [cells.get(metric) for metric in metrics]} for key, cells in by_key.items()
    ]
    for place in range(len(metrics)):
        column = [row["cells"][place] for row in rows if row["cells"][place]]
        if any(one["interval"] and not one["bar"] for one in column):  # bars only where the whole column has them
            for one in column:
                one["bar"] = None
    labels = [{"name": metric, "label": words(metric), "meaning": meanings.get(metric, "")} for metric in metrics]
    return block(keys, labels, rows)


def block(
    named: Sequence[str], metrics: Sequence[Mapping[str, Any]], rows: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Cells of ``rows`` (key, with parts ``named``) by ``metrics`` (label, meaning), upright if that is narrower."""
    return {"upright": len(metrics) > max(_WIDEST, len(rows)), "named": named, "metrics": metrics, "rows": rows}


def cell(row: Mapping[str, Any], shown: Callable[[float], str]) -> dict[str, Any]:
    """A row of METRICS as it is shown: value, interval with its bar if that lies in 0-1, n, and what is unscored."""
    value, low, high = row["value"], row["low"], row["high"]
    has_interval = not (math.isnan(low) or math.isnan(high))
    on_bar = has_interval and 0 <= low <= high <= 1
    return {
        "value": shown(value),
        "sort": "" if math.isnan(value) else f"{value:.6g}",
        "interval": f"{shown(low)} to {shown(high)}" if has_interval else "",
        "bar": (100 * low, max(100 * (high - low), 1)) if on_bar else None,
        "n": f"{row['n']:,}",
        "unscored": row["unscored"],
        "partial": row.get("partial", 0),
    }


def reproduction_view(rows: pd.DataFrame, names: Mapping[str, Any]) -> list[dict[str, Any]]:
    """One matrix per published table, with its printed rows and columns. ``names``: published.yaml."""
    views = []
    groups = sorted(rows.groupby(["source", "table"]), key=lambda group: [_natural(part) for part in group[0]])
    for (source, table), group in groups:
        columns, lines = (list(dict.fromkeys(group[name])) for name in ("column", "row"))
        places = {name: decimals(list(of["published"].dropna())) for name, of in group.groupby("column")}
        cells = {(cell.row, cell.column): _printed_cell(cell, places[cell.column]) for cell in group.itertuples()}
        if len(columns) > max(_WIDEST, len(lines)):
            cells = {(column, row): cell for (row, column), cell in cells.items()}
            columns, lines = lines, columns
        matrix = [{"row": words(row), "cells": [cells.get((row, column)) for column in columns]} for row in lines]
        views.append(
            {
                "source": names["sources"].get(source, source),
                "table": table,
                "title": names["tables"].get(source, {}).get(table, ""),
                "columns": [words(column) for column in columns],
                "rows": matrix,
                "counts": group["verdict"].value_counts().to_dict(),
                "bases": sorted(group["basis"].unique()),
                "notes": _notes(group),
            }
        )
    return views


def _natural(name: str) -> list[tuple[int, str]]:
    """Sort key by which numbers within names are in their order: Table 2 before Table 11."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name)]


def by_basis(rows: pd.DataFrame, names: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Counts of verdicts by basis, with the description of each basis, in the order of ``names``."""
    groups = dict(list(rows.groupby("basis", sort=True)))
    return [
        {
            "basis": basis,
            "meaning": names["bases"][kind],
            "counts": groups[basis]["verdict"].value_counts().to_dict(),
        }
        for kind in names["bases"]
        for basis in groups
        if basis.partition(":")[0] == kind
    ]


def _printed_cell(cell: Any, places: int) -> dict[str, Any]:
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
        found.setdefault(row.note, []).append(words(f"{row.row}, {row.column}"))
    return [f"{places[0]}: {note}" if len(places) == 1 else note for note, places in sorted(found.items())]
