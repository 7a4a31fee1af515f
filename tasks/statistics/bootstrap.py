"""Resamples of records, for the spread of what has no closed form (Efron and Tibshirani 1993, chapter 13).

Intervals of printed shares and means are those of `tasks.statistics.intervals`.

Samples of records for stages with costly judgements. Stages with the same sample size draw the same records.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

LEVEL = 0.95
DRAWS = 1000
_CELLS = 10_000_000
"""Row numbers drawn at a time."""


def resample_blocks(n: int, *, seed: int, draws: int = DRAWS) -> Iterator[npt.NDArray[np.int64]]:
    """Row numbers of ``draws`` resamples with replacement, some at a time, shape (k, n).

    Those of 100,000 records take 800 MB together. The blocks do not change what is drawn.
    """
    random = np.random.default_rng(seed)
    step = max(1, _CELLS // max(n, 1))
    for start in range(0, draws, step):
        yield random.integers(0, n, size=(min(step, draws - start), n))


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
