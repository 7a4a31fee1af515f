"""Shapes metric tables for display: a pivot, never a new figure."""

import math
from collections.abc import Mapping
from typing import Any

import networkx as nx
import pandas as pd

from tasks.reporting.numbers import number

_KEY = ("system", "condition", "item")
_ABSENT = "absent: "


def metric_view(table: pd.DataFrame, meanings: Mapping[str, str]) -> dict[str, Any]:
    """A long-form metric table as blocks, one for each set of metrics that are measured on the same rows.

    Key columns that hold one value throughout go to ``constant``; metrics that could not be had, with what they need,
    to ``absent``.
    """
    missing = table["provenance"].str.startswith(_ABSENT) & table["value"].isna()
    shown = table[~missing]
    constant = {name: shown[name].iloc[0] for name in _KEY if len(shown) and shown[name].nunique() == 1}
    keys = [name for name in _KEY if name not in constant] or ["system"]
    if keys == ["system"]:
        constant.pop("system", None)
    return {
        "constant": {name: value for name, value in constant.items() if value != "all"},
        "blocks": [_block(shown, metrics, keys, meanings) for metrics in _measured_together(shown)],
        "absent": sorted({(row.metric, row.provenance.removeprefix(_ABSENT)) for row in table[missing].itertuples()}),
        "rows": len(shown[list(_KEY)].drop_duplicates()),
        "unscored": int(table["unscored"].max()) if len(table) else 0,
    }


def _measured_together(table: pd.DataFrame) -> list[list[str]]:
    """Metrics in groups: two that stand in one row are in one group; in order of first appearance."""
    together = nx.Graph()
    together.add_nodes_from(dict.fromkeys(table["metric"]))
    for _, group in table.groupby(list(_KEY), sort=False):
        nx.add_path(together, group["metric"])
    order = list(dict.fromkeys(table["metric"]))
    return [sorted(group, key=order.index) for group in nx.connected_components(together)]


def _block(table: pd.DataFrame, metrics: list[str], keys: list[str], meanings: Mapping[str, str]) -> dict[str, Any]:
    by_key: dict[tuple[str, ...], dict[str, dict[str, Any]]] = {}
    shown_keys: dict[tuple[str, ...], list[str]] = {}
    for row in table[table["metric"].isin(metrics)].itertuples():
        key = (row.system, row.condition, row.item)
        by_key.setdefault(key, {})[row.metric] = _cell(row)
        shown_keys[key] = [getattr(row, name) for name in keys]
    rows: list[dict[str, Any]] = [
        {"key": shown_keys[key], "cells": [cells.get(metric) for metric in metrics]} for key, cells in by_key.items()
    ]
    for place in range(len(metrics)):
        column = [row["cells"][place] for row in rows if row["cells"][place]]
        if any(cell["interval"] and not cell["bar"] for cell in column):  # bars compare: all of a column or none
            for cell in column:
                cell["bar"] = None
    return {
        "named": keys,
        "metrics": [
            {"name": metric, "label": metric.replace("_", " "), "meaning": meanings.get(metric, "")}
            for metric in metrics
        ],
        "rows": rows,
    }


def _cell(row: Any) -> dict[str, Any]:
    has_interval = not (math.isnan(row.low) or math.isnan(row.high))
    on_bar = has_interval and 0 <= row.low <= row.high <= 1
    return {
        "value": number(row.value),
        "sort": "" if math.isnan(row.value) else f"{row.value:.6g}",
        "interval": f"{number(row.low)} to {number(row.high)}" if has_interval else "",
        "bar": (100 * row.low, max(100 * (row.high - row.low), 1)) if on_bar else None,
        "n": f"{row.n:,}",
        "unscored": row.unscored,
    }
