"""Rows of the metric table that this room writes."""

from typing import Any

import pandas as pd

from schemas.tables.metrics import METRICS

Row = dict[str, Any]

COMPUTED = "computed, no model"


def metric_row(
    *,
    system: str,
    condition: str,
    item: str,
    metric: str,
    value: float,
    interval: tuple[float, float] = (float("nan"), float("nan")),
    n: int,
    unscored: int = 0,
    seed: int | None = None,
    provenance: str = COMPUTED,
) -> Row:
    """One row; the keys are those of the metric table."""
    return {
        "stage": "network",
        "system": system,
        "condition": condition,
        "item": item,
        "metric": metric,
        "value": float(value),
        "low": float(interval[0]),
        "high": float(interval[1]),
        "n": int(n),
        "unscored": int(unscored),
        "seed": None if seed is None else str(seed),
        "provenance": provenance,
    }


def metric_frame(rows: list[Row]) -> pd.DataFrame:
    """Rows as a metric table with the columns' types."""
    frame = pd.DataFrame(rows, columns=list(METRICS.columns))
    return frame.astype({name: str(column.dtype) for name, column in METRICS.columns.items()})
