"""Resamples of records, for the spread of what has no closed form (Efron and Tibshirani 1993, chapter 13).

Intervals of printed shares and means are those of `tasks.statistics.intervals`.

Samples of records for stages with costly judgements. Stages with the same sample size draw the same records.
"""

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.stats import norm, t

from tasks.statistics.intervals import LEVEL


def bias_corrected_interval(draws: npt.NDArray[np.float64], estimate: float, n: float) -> tuple[float, float]:
    """Low and high of the bias-corrected percentile interval of an estimate from ``n`` records; nan for no draws.

    ``draws`` (draws,) are estimates from resamples; nan is left out. Percentiles are moved by twice the median bias of
    the draws (Efron and Tibshirani 1993, equation 14.9 without acceleration), and lie as far out as the quantiles of
    Student's t and the factor n / (n - 1) of the variance ask for (Hesterberg 2015, section 5.3).
    """
    draws = draws[~np.isnan(draws)]
    if draws.size == 0 or n < 2:
        return np.nan, np.nan
    below = np.mean(draws < estimate) + np.mean(draws == estimate) / 2
    least = 1 / (draws.size + 1)
    bias = norm.ppf(np.clip(below, least, 1 - least))
    reach = t.ppf((1 + LEVEL) / 2, n - 1) * np.sqrt(n / (n - 1))
    low, high = np.quantile(draws, norm.cdf([2 * bias - reach, 2 * bias + reach]))
    return float(low), float(high)


SAMPLE_STREAM = 81


def sample_records(records: pd.Series, size: int, *, seed: int) -> list[int]:
    """Draw ``size`` of the distinct ``records`` without replacement, in ascending order; all if there are fewer."""
    values = np.sort(records.unique())
    if len(values) > size:
        values = np.random.default_rng([seed, SAMPLE_STREAM]).choice(values, size, replace=False)
    return sorted(int(value) for value in values)
