"""Percentile bootstrap intervals (Efron and Tibshirani 1993, chapter 13)."""

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

LEVEL = 0.95
DRAWS = 1000
_CELLS = 10_000_000
"""Row numbers drawn at a time."""


def resamples(n: int, *, seed: int, draws: int = DRAWS) -> npt.NDArray[np.int64]:
    """Row numbers of ``draws`` resamples with replacement, shape (draws, n)."""
    return np.random.default_rng(seed).integers(0, n, size=(draws, n))


def resample_blocks(n: int, *, seed: int, draws: int = DRAWS) -> Iterator[npt.NDArray[np.int64]]:
    """Yield the rows of `resamples` some at a time, shape (k, n): those of 100,000 records take 800 MB together."""
    random = np.random.default_rng(seed)
    step = max(1, _CELLS // max(n, 1))
    for start in range(0, draws, step):
        yield random.integers(0, n, size=(min(step, draws - start), n))


def mean_interval(
    values: npt.ArrayLike, *, seed: int, draws: int = DRAWS, level: float = LEVEL
) -> tuple[float, float, float]:
    """Mean of ``values`` (n,) with its bootstrap interval: (mean, low, high); all nan for no values."""
    array = np.asarray(values, dtype=float)
    if array.size == 0:
        return (np.nan, np.nan, np.nan)
    blocks = resample_blocks(array.size, seed=seed, draws=draws)
    means = np.concatenate([array[rows].mean(axis=1) for rows in blocks])
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return float(array.mean()), float(low), float(high)


def interval(
    statistic: Callable[[npt.NDArray[np.int64]], float], n: int, *, seed: int, draws: int = DRAWS, level: float = LEVEL
) -> tuple[float, float]:
    """Bootstrap interval of a ``statistic`` of row numbers, for ``n`` rows; resamples where it is nan are left out."""
    blocks = resample_blocks(n, seed=seed, draws=draws) if n else ()
    values = np.array([statistic(rows) for block in blocks for rows in block])
    values = values[~np.isnan(values)]
    if values.size == 0:
        return (np.nan, np.nan)
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)
