"""Resamples of records, for the spread of what has no closed form (Efron and Tibshirani 1993, chapter 13).

Intervals of printed shares and means are those of `tasks.statistics.intervals`.

Samples of records for stages with costly judgements. Stages with the same sample size draw the same records.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

LEVEL = 0.95


def percentile_interval(draws: npt.NDArray[np.float64], level: float = LEVEL) -> tuple[Any, Any]:
    """Low and high of the percentile interval along the first axis, without nan; nan for no draws.

    Floats for ``draws`` of one dimension, otherwise arrays.
    """
    if draws.ndim == 1:
        draws = draws[~np.isnan(draws)]
        if draws.size == 0:
            return np.nan, np.nan
    low, high = np.nanquantile(draws, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return (low, high) if draws.ndim > 1 else (float(low), float(high))


SAMPLE_STREAM = 81


def sample_records(records: pd.Series, size: int, *, seed: int) -> list[int]:
    """Draw ``size`` of the distinct ``records`` without replacement, in ascending order; all if there are fewer."""
    values = np.sort(records.unique())
    if len(values) > size:
        values = np.random.default_rng([seed, SAMPLE_STREAM]).choice(values, size, replace=False)
    return sorted(int(value) for value in values)
