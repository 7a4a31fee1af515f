"""Standard deviation of scores over texts, with its interval."""

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import stats

from tasks.statistics.intervals import statistic_interval
from tasks.statistics.metric_rows import NAN, Row, metric_row

FEWEST_OF_DEVIATION = 8
"""Fewest values with an interval of their standard deviation."""


def deviation_row(metric: str, values: npt.ArrayLike, **columns: Any) -> Row:
    """Row of the standard deviation of ``values``; its interval is the jackknife's on the log scale (Miller 1968).

    It reaches at least as far as that of normal values, whose logarithm has the variance 1 / 2 (n - 1). None for fewer
    than `FEWEST_OF_DEVIATION`: counts that are all but alike have too short ones.
    """
    array = np.asarray(values, dtype=float)

    def logarithm(rows: npt.NDArray[np.int64]) -> float:
        spread = float(np.std(array[rows], ddof=1)) if len(rows) > 1 else 0.0
        return float(np.log(spread)) if spread > 0 else NAN

    low, high = NAN, NAN
    if len(array) >= FEWEST_OF_DEVIATION:
        _, low, high = statistic_interval(logarithm, len(array), bounds=None)
        centre, normal = (low + high) / 2, float(stats.t.isf(0.025, len(array) - 1)) / np.sqrt(2 * (len(array) - 1))
        low, high = min(low, centre - normal), max(high, centre + normal)
    value = float(np.std(array)) if len(array) else NAN
    return metric_row(metric, value, float(np.exp(low)), float(np.exp(high)), n=len(array), **columns)
