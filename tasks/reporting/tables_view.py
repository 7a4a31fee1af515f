"""Shapes metric and reproduction tables for display: a pivot, never a new figure."""

import math
from typing import Any

import pandas as pd

_ROW = ["system", "condition", "item"]


def number(value: float | None) -> str:
    """A figure as shown: four significant digits at most, a dash for none."""
    if value is None or math.isnan(value):
        return "–"
    if float(value).is_integer() and abs(value) < 1e6:
        return f"{value:.0f}"
    return f"{value:.3f}" if abs(value) < 10 else f"{value:.1f}"


def metric_view(table: pd.DataFrame) -> dict[str, Any]:
    """A long-form metric table as rows of system, condition and item, one column a metric.

    A cell holds value, interval, n and unscored count, and the interval's place on a 0-1 bar where it has one.
    """
    metrics = list(dict.fromkeys(table["metric"]))
    rows = []
    for key, group in table.groupby(_ROW, sort=False):
        cells = {row.metric: _cell(row) for row in group.itertuples()}
        rows.append({"key": key, "cells": [cells.get(metric) for metric in metrics]})
    return {"metrics": metrics, "rows": rows, "unscored": int(table["unscored"].max()) if len(table) else 0}


def _cell(row: Any) -> dict[str, Any]:
    has_interval = not (math.isnan(row.low) or math.isnan(row.high))
    on_bar = has_interval and 0 <= row.low <= row.high <= 1
    return {
        "value": number(row.value),
        "interval": f"{number(row.low)} to {number(row.high)}" if has_interval else "",
        "bar": (100 * row.low, max(100 * (row.high - row.low), 1)) if on_bar else None,
        "n": row.n,
        "unscored": row.unscored,
    }


def reproduction_view(rows: pd.DataFrame) -> list[dict[str, Any]]:
    """Judged reproduction rows as one matrix a published table: printed rows by printed columns."""
    views = []
    for (source, table), group in rows.groupby(["source", "table"], sort=True):
        columns = list(dict.fromkeys(group["column"]))
        matrix = []
        for row, cells in group.groupby("row", sort=False):
            by_column = {cell.column: _reproduced(cell) for cell in cells.itertuples()}
            matrix.append({"row": row, "cells": [by_column.get(column) for column in columns]})
        views.append(
            {
                "source": source,
                "table": table,
                "columns": columns,
                "rows": matrix,
                "counts": group["verdict"].value_counts().to_dict(),
                "bases": sorted(group["basis"].unique()),
                "notes": sorted(group["note"].dropna().unique()),
            }
        )
    return views


def _reproduced(cell: Any) -> dict[str, Any]:
    return {
        "published": number(cell.published),
        "reproduced": number(cell.reproduced),
        "tolerance": number(cell.tolerance),
        "basis": cell.basis,
        "verdict": cell.verdict,
        "note": cell.note if isinstance(cell.note, str) else "",
    }
