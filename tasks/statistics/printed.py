"""Errors of figures of which only the value, n and perhaps the standard deviation are printed; 95% throughout."""

from collections.abc import Sequence

import numpy as np
from scipy import stats

from tasks.statistics.intervals import mean_interval

FEWEST_PAIRS = 20
"""Fewest pairs behind a rank correlation that is given an interval."""
_TAIL, _NORMAL = 0.025, 1.96
_BONETT_WRIGHT = 0.5
"""Variance of a Spearman correlation's Fisher transform: (1 + r^2 / 2) / (n - 3) (Bonett and Wright 2000)."""


def mean_half(std: float, n: int) -> float:
    """Half width of the interval of a mean."""
    return float(stats.t.isf(_TAIL, n - 1) * std / np.sqrt(n))


def rank_correlation_halves(value: float, n: int) -> tuple[float, float]:
    """Half widths, below and above, of a rank correlation of ``n`` pairs; nan for fewer than `FEWEST_PAIRS`."""
    if n < FEWEST_PAIRS:
        return np.nan, np.nan
    half = stats.norm.isf(_TAIL) * np.sqrt((1 + _BONETT_WRIGHT * value**2) / (n - 3))
    middle = np.arctanh(value)
    return float(value - np.tanh(middle - half)), float(np.tanh(middle + half) - value)


def share_halves(value: float, n: int) -> tuple[float, float]:
    """Half widths, below and above, of a share of ``n`` independent items."""
    found, low, high = share_of_pairs(round(value * n), n)
    return float(found - low), float(high - found)


def share_of_pairs(hits: int, pairs: int) -> tuple[float, float, float]:
    """The share of pairs with its interval."""
    return mean_interval(np.repeat([1.0, 0.0], [hits, pairs - hits]))


def means_error(stds: Sequence[float], sizes: Sequence[int]) -> float:
    """Sampling error of the difference of two samples' means: ``1.96 sqrt(s_1^2 / n_1 + s_2^2 / n_2)``."""
    return float(_NORMAL * np.sqrt(sum(std**2 / n for std, n in zip(stds, sizes, strict=True))))


def deviations_error(stds: Sequence[float], sizes: Sequence[int]) -> float:
    """As `means_error`, of standard deviations of normal values: with ``2 (n - 1)`` for each n."""
    return means_error(stds, [2 * (n - 1) for n in sizes])


def shares_error(share: float, sizes: Sequence[int]) -> float:
    """Limits of the difference of two shares of one distribution."""
    return means_error([np.sqrt(share * (1 - share))] * 2, sizes)


def others_errors(values: Sequence[float]) -> list[float]:
    """Distance of each value from the mean of the others; nan for one that is alone."""
    all_of = np.array(values, dtype=float)
    if len(all_of) < 2:
        return [np.nan] * len(all_of)
    return [float(one) for one in np.abs((all_of.sum() - all_of) / (len(all_of) - 1) - all_of)]
