"""Rows of metric tables (schema METRICS). Shares are stored as 0 to 1; only the report shows them as percent."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from schemas.tables.columns import typed
from schemas.tables.metrics import METRICS, SCORES
from tasks.statistics.bootstrap import DRAWS, interval, mean_interval

Row = dict[str, Any]
NAN = float("nan")
COMPUTED = "computed, no model"
"""Provenance of figures that need no model."""
_DEFAULTS: Row = {"low": NAN, "high": NAN, "unscored": 0, "seed": None}


def metric_row(metric: str, value: float, low: float = NAN, high: float = NAN, *, n: int, **columns: Any) -> Row:
    """One row: a value with its 95% interval and the number ``n`` of units that it is computed from.

    ``columns`` are further columns of METRICS; columns shared by all rows are passed to `metric_table` instead.
    """
    return {"metric": metric, "value": value, "low": low, "high": high, "n": n, **columns}


def mean_row(metric: str, values: npt.ArrayLike, *, seed: int, draws: int = DRAWS, **columns: Any) -> Row:
    """Row of the mean of ``values`` (n,) with its 95% bootstrap interval."""
    mean, low, high = mean_interval(values, seed=seed, draws=draws)
    return metric_row(metric, mean, low, high, n=len(values), seed=seed, **columns)  # type: ignore[arg-type]


def statistic_row(
    metric: str,
    statistic: Callable[[npt.NDArray[np.int64]], float],
    rows: int,
    *,
    seed: int,
    n: int | None = None,
    **columns: Any,
) -> Row:
    """Row of a ``statistic`` of row numbers with its 95% bootstrap interval; ``n`` is by default the number of rows."""
    value = float(statistic(np.arange(rows))) if rows else NAN
    low, high = interval(statistic, rows, seed=seed)
    return metric_row(metric, value, low, high, n=rows if n is None else n, seed=seed, **columns)


def metric_table(rows: Iterable[Mapping[str, Any]], **shared: Any) -> pd.DataFrame:
    """``rows`` as a METRICS table, in their order.

    ``shared`` fills columns that a row lacks; entries of the row take precedence. The defaults are no interval, nothing
    unscored and no seed. Raises ValueError for a row with missing or unknown columns.
    """
    complete = [{**_DEFAULTS, **shared, **row} for row in rows]
    for row in complete:
        if row.keys() != METRICS.columns.keys():
            missing, unknown = METRICS.columns.keys() - row.keys(), row.keys() - METRICS.columns.keys()
            raise ValueError(f"metric row {row}: missing columns {sorted(missing)}, unknown columns {sorted(unknown)}")
        row["seed"] = None if row["seed"] is None else str(row["seed"])
    return typed(complete, METRICS)


def score_table(scores: pd.DataFrame) -> pd.DataFrame:
    """Scores of single records as a SCORES table, sorted by its key; further columns are dropped."""
    return typed(scores, SCORES).sort_values(list(SCORES.unique or []), ignore_index=True)
