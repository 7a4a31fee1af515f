"""95% intervals of shares, means and other statistics, for independent and for clustered items: the only place.

A unit is what varies independently: an item, or all items of a cluster (the questions of a patient, the claims of a
note). No interval is printed for fewer than `FEWEST` units; beyond that, whether one is printed depends on the method
only, never on the data. docs/coverage.md has the simulated coverage of each method.

- Shares of independent items: Wilson's interval, modified near 0 and 1 (Brown, Cai and DasGupta 2001, "Interval
  Estimation for a Binomial Proportion", Sections 3.1.1 and 4.1.1); Clopper and Pearson's at 0 and 1.
- Shares and ratios over clusters, and means of scores between two bounds: the same with an effective sample size,
  which is the share's binomial variance over its estimated variance, and Student's t for the normal quantile (Korn and
  Graubard 1998; Dean and Pagano 2015). The variance is pooled with that of one further unit whose items are all alike,
  so that a few units that happen to agree do not give an interval of no width.
- Means of values from 0 up (counts): the score interval of a Poisson mean with the dispersion of the values (Wilson's
  form; McCullagh and Nelder 1989, Section 6.2), pooled with that of one further Poisson count.
- Means of differences of scores between two bounds, or from 0 up: the intervals of the mean gain and of the mean loss,
  joined by the method of variance estimates recovery (Newcombe 1998, "Improved confidence intervals for the difference
  between binomial proportions based on paired data", method 10; Zou and Donner 2008).
- Means without bounds: Student's t.
- F1, precision and recall over values and seeds, and differences between them: a share with the variance of their
  linearisation.
- Other statistics between two bounds (Kendall's tau, alpha): the delete-one jackknife over units (Tukey 1958; at
  most `MOST_GROUPS` groups of them) as the estimated variance of a share. For more than `MANY` rows, the variance is
  that of the statistic in `MANY_GROUPS` disjoint groups, over their number, which takes as long as the statistic.

No method draws random numbers, and the time of all but the jackknife is that of a mean.
"""

from collections.abc import Callable
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy import stats

LEVEL = 0.95
FEWEST = 2
MOST_GROUPS, MANY_GROUPS, MANY = 200, 50, 10_000
Bounds = tuple[float, float]
SHARE: Bounds = (0.0, 1.0)
COUNT: Bounds = (0.0, np.inf)
Interval = tuple[float, float, float]
"""Value, low and high; nan where there is none."""
_TAIL = (1 - LEVEL) / 2
"""Probability beyond either end of an interval."""
_ROUNDING = 1e-9
Floats = npt.NDArray[np.float64]


def mean_interval(
    values: npt.ArrayLike, *, bounds: Bounds | None = SHARE, clusters: npt.ArrayLike | None = None
) -> Interval:
    """Mean of ``values`` (n,) with its interval; all nan for no values.

    ``bounds``: the least and the largest possible value, by default those of a share; `COUNT` for
    values from 0 up, None if there are none.
    ``clusters`` (n,) names the cluster of each value. Raises ValueError for a value outside the bounds.
    """
    array = np.asarray(values, dtype=float)
    if array.size == 0:
        return (np.nan, np.nan, np.nan)
    parts, wholes = (array, np.ones_like(array)) if clusters is None else cluster_sums(array, clusters)
    if bounds is None:
        return float(array.mean()), *_t_interval(parts, wholes)
    least, most = bounds
    if array.min() < least - _ROUNDING or array.max() > most + _ROUNDING:
        found = array.min() if array.min() < least else array.max()
        raise ValueError(f"value {found:g} is outside {least:g} to {most:g}; pass the bounds of the measure, or None")
    if most == np.inf:
        return float(array.mean()), *_count_interval(parts - least * wholes, wholes, least)
    _, low, high = ratio_interval((parts - least * wholes) / (most - least), wholes)
    return float(array.mean()), least + (most - least) * low, least + (most - least) * high


def difference_interval(
    differences: npt.ArrayLike, *, reach: float = 1.0, clusters: npt.ArrayLike | None = None, level: float = LEVEL
) -> Interval:
    """Mean of ``differences`` (n,) with its interval, from those of the mean gain and the mean loss.

    ``reach``: the largest possible difference, 1 for two shares; infinite for scores without an upper bound, on the
    scale of counts. ``clusters`` as in `mean_interval`. ``level``: confidence; of k intervals that shall hold together,
    1 - 0.05 / k (Bonferroni). Raises ValueError for a difference beyond the reach.
    """
    array = np.asarray(differences, dtype=float)
    if array.size == 0:
        return (np.nan, np.nan, np.nan)
    names = np.arange(array.size) if clusters is None else clusters
    scale = reach if np.isfinite(reach) else 1.0
    if np.abs(array).max() > reach + _ROUNDING:
        raise ValueError(f"difference {np.abs(array).max():g}: expected at most {reach:g}, the reach of the measure")
    (gains, wholes), (losses, _) = (cluster_sums(np.maximum(sign * array, 0) / scale, names) for sign in (1, -1))
    interval = ratio_interval if np.isfinite(reach) else count_ratio_interval
    gain, loss = interval(gains, wholes, level=level), interval(losses, wholes, level=level)
    low, high = joined(gain, loss, _correlation(gains - gain[0] * wholes, losses - loss[0] * wholes))
    return float(array.mean()), max(low * scale, -reach), min(high * scale, reach)


def joined(first: Interval, second: Interval, correlation: float = 0.0) -> tuple[float, float]:
    """Interval of the difference first - second of two estimates with a ``correlation``, from their own intervals."""
    (one, one_low, one_high), (two, two_low, two_high) = first, second

    def distance(of_one: float, of_two: float) -> float:
        return float(np.sqrt(max(of_one**2 + of_two**2 - 2 * correlation * of_one * of_two, 0.0)))

    value = one - two
    return value - distance(one - one_low, two_high - two), value + distance(one_high - one, two - two_low)


def shares_correlation(values: npt.ArrayLike, first: npt.ArrayLike, clusters: npt.ArrayLike) -> float:
    """Correlation of two shares: of the ``values`` (n,) that are ``first`` (n,) and of the others.

    From the deviations of both by cluster (n,): it is 0 where the two kinds have no cluster in common.
    """
    array, one = np.asarray(values, dtype=float), np.asarray(first, dtype=bool)
    if one.all() or not one.any():
        return 0.0
    apart = array - np.where(one, array[one].mean(), array[~one].mean())
    return _correlation(*(cluster_sums(np.where(kind, apart, 0.0), clusters)[0] for kind in (one, ~one)))


def ratio_interval(parts: npt.ArrayLike, wholes: npt.ArrayLike, *, level: float = LEVEL) -> Interval:
    """Ratio of the sums of ``parts`` (units,) and ``wholes`` (units,), between 0 and 1, with its interval.

    A pooled share has the number of hits and of items of each cluster; F1 twice the hits, and all predictions and
    labels. Units with a whole of 0 do not count.
    """
    part, whole = np.asarray(parts, dtype=float), np.asarray(wholes, dtype=float)
    part, whole = part[whole > 0], whole[whole > 0]
    if part.size == 0:
        return (np.nan, np.nan, np.nan)
    share = float(part.sum() / whole.sum())
    if part.size < FEWEST:
        return share, np.nan, np.nan
    tail = (1 - level) / 2
    return share, *_wilson(share, effective_size(part, whole, tail=tail), tail=tail)


def count_ratio_interval(parts: npt.ArrayLike, wholes: npt.ArrayLike, *, level: float = LEVEL) -> Interval:
    """As `ratio_interval`, for a ratio from 0 up that may exceed 1, such as words a span."""
    part, whole = np.asarray(parts, dtype=float), np.asarray(wholes, dtype=float)
    part, whole = part[whole > 0], whole[whole > 0]
    if part.size == 0:
        return (np.nan, np.nan, np.nan)
    return float(part.sum() / whole.sum()), *_count_interval(part, whole, 0.0, tail=(1 - level) / 2)


def effective_size(parts: npt.ArrayLike, wholes: npt.ArrayLike, *, tail: float = _TAIL) -> float:
    """Number of independent items whose share would be as uncertain as the ratio of the sums of parts and wholes.

    Both are (units,), with a whole above 0. Includes the factor by which Student's quantile exceeds the normal one, as
    in Korn and Graubard 1998. A single unit counts as one item.
    """
    part, whole = np.asarray(parts, dtype=float), np.asarray(wholes, dtype=float)
    if part.size < FEWEST:
        return float(part.size)
    if (whole == 1).all() and np.isin(part, (0.0, 1.0)).all():
        return float(part.size)
    share = part.sum() / whole.sum()
    alike = float((whole**2).sum() / whole.sum() ** 2)
    return _effective(share, _variance(part, whole), part.size, alike=alike, tail=tail)


def cluster_sums(values: npt.ArrayLike, clusters: npt.ArrayLike) -> tuple[Floats, Floats]:
    """Sum and number of the values of each cluster."""
    _, of = np.unique(np.asarray(clusters), return_inverse=True)
    return np.bincount(of, weights=np.asarray(values, dtype=float)).astype(float), np.bincount(of).astype(float)


def statistic_interval(
    statistic: Callable[[npt.NDArray[np.int64]], float],
    rows: int,
    *,
    bounds: Bounds | None = SHARE,
    clusters: npt.ArrayLike | None = None,
) -> Interval:
    """A ``statistic`` of row numbers, for ``rows`` rows, with its jackknife interval; nan where it is not defined.

    ``bounds`` and ``clusters`` are as in `mean_interval`. Without bounds, the interval is Student's. Groups in which,
    or without which, the statistic is not defined are skipped.
    """
    return _jackknife(statistic, rows, bounds, clusters)[0]


def statistic_difference_interval(
    first: Callable[[npt.NDArray[np.int64]], float],
    second: Callable[[npt.NDArray[np.int64]], float],
    rows: int,
    *,
    bounds: Bounds = SHARE,
    clusters: npt.ArrayLike | None = None,
) -> Interval:
    """The difference first - second of two statistics of the same rows, from their `statistic_interval` (`joined`).

    Their correlation is that of the jackknife's values (Zou 2007, "Toward using confidence intervals to compare
    correlations").
    """
    (one, of_one), (two, of_two) = (_jackknife(one, rows, bounds, clusters) for one in (first, second))
    known = ~np.isnan(of_one) & ~np.isnan(of_two) if len(of_one) == len(of_two) else np.zeros(0, dtype=bool)
    apart = [values[known] - values[known].mean() for values in (of_one, of_two)] if known.any() else [np.zeros(1)] * 2
    return one[0] - two[0], *joined(one, two, _correlation(*apart))


def _jackknife(
    statistic: Callable[[npt.NDArray[np.int64]], float],
    rows: int,
    bounds: Bounds | None,
    clusters: npt.ArrayLike | None,
) -> tuple[Interval, Floats]:
    """The interval of `statistic_interval`, and the statistic without, or in, each group of units."""
    value = float(statistic(np.arange(rows))) if rows else np.nan
    _, unit = np.unique(np.arange(rows) if clusters is None else np.asarray(clusters), return_inverse=True)
    units = int(unit.max()) + 1 if rows else 0
    if np.isnan(value) or units < FEWEST:
        return (value, np.nan, np.nan), np.zeros(0)
    groups = min(units, MOST_GROUPS if rows <= MANY else MANY_GROUPS)
    place = unit % groups
    parts = np.array(
        [statistic(np.flatnonzero(place == group if rows > MANY else place != group)) for group in range(groups)]
    )
    defined = parts[~np.isnan(parts)]
    if defined.size == 0:
        return (value, np.nan, np.nan), parts
    if rows > MANY:
        variance = float(defined.var(ddof=1)) / groups if defined.size > 1 else np.nan
    else:
        variance = (groups - 1) * float(defined.var())
    if bounds is None:
        margin = float(stats.t.isf(_TAIL, groups - 1)) * np.sqrt(variance)
        return (value, value - margin, value + margin), parts
    least, width = bounds[0], bounds[1] - bounds[0]
    share = (value - least) / width
    low, high = _wilson(share, _effective(share, variance / width**2, groups, alike=1 / units))
    return (value, least + width * low, least + width * high), parts


def linearised_interval(value: float, influence: npt.ArrayLike, *, bounds: Bounds = SHARE) -> tuple[float, float]:
    """Interval of a smooth statistic from its linearisation, as the variance of a share; of a mean for `COUNT`.

    ``influence`` (units,): what each unit adds to the statistic's deviation from ``value``; they sum to 0.
    """
    array = np.asarray(influence, dtype=float)
    units = array.size
    if units < FEWEST:
        return (np.nan, np.nan)
    if bounds[1] == np.inf:
        return _count_interval(value + units * array, np.ones(units), bounds[0])
    variance, width = units / (units - 1) * float((array**2).sum()), bounds[1] - bounds[0]
    share = (value - bounds[0]) / width
    low, high = _wilson(share, _effective(share, variance / width**2, units, alike=1 / units))
    return bounds[0] + width * low, bounds[0] + width * high


def _correlation(one: Floats, other: Floats) -> float:
    """Correlation of deviations (units,), whose means are 0; 0 where one side has none."""
    size = float(np.sqrt((one @ one) * (other @ other)))
    return float(one @ other) / size if size > 0 else 0.0


def _variance(part: Floats, whole: Floats) -> float:
    """Variance of a ratio of sums by linearisation over units (Cochran 1977, Section 6.4)."""
    units, residuals = part.size, part - part.sum() / whole.sum() * whole
    return float(units / (units - 1) * (residuals**2).sum() / whole.sum() ** 2)


def _t_interval(part: Floats, whole: Floats) -> tuple[float, float]:
    if part.size < FEWEST:
        return (np.nan, np.nan)
    margin = stats.t.isf(_TAIL, part.size - 1) * np.sqrt(_variance(part, whole))
    mean = part.sum() / whole.sum()
    return float(mean - margin), float(mean + margin)


def _count_interval(part: Floats, whole: Floats, least: float, *, tail: float = _TAIL) -> tuple[float, float]:
    """Interval of a mean of values from ``least`` up; ``part`` is above it."""
    units = part.size
    if units < FEWEST:
        return (np.nan, np.nan)
    mean = part.sum() / whole.sum()
    poisson = mean * float((whole**2).sum() / whole.sum() ** 2)
    spread = ((units - 1) * _variance(part, whole) + poisson) / units / mean if mean > 0 else 1 / units
    half = float(stats.t.isf(tail, units)) ** 2 * spread / 2
    root = np.sqrt(2 * half * mean + half**2)
    return float(least + mean + half - root), float(least + mean + half + root)


def _effective(share: float, variance: float, units: int, *, alike: float, tail: float = _TAIL) -> float:
    """Effective size of a share with a variance that is estimated from ``units``.

    ``alike``: the share's variance if the items of each unit were all alike, as a multiple of share (1 - share).
    """
    shrink = (_normal(tail) / float(stats.t.isf(tail, units))) ** 2
    binomial = share * (1 - share)
    if binomial <= 0:
        return shrink / alike
    pooled = ((units - 1) * variance + binomial * alike) / units
    return float(binomial / pooled * shrink)


@lru_cache
def _normal(tail: float) -> float:
    """The normal quantile; scipy takes most of the time of an interval for it."""
    return float(stats.norm.isf(tail))


def _wilson(share: float, size: float, *, tail: float = _TAIL) -> tuple[float, float]:
    """Interval of a share of ``size`` items; see the head of the module. ``size`` need not be a whole number."""
    if share <= 0 or share >= 1:
        bound = tail ** (1 / size)  # Clopper and Pearson's
        return (bound, 1.0) if share >= 1 else (0.0, 1 - bound)
    normal = _normal(tail)
    squared = normal**2 / size
    centre = (share + squared / 2) / (1 + squared)
    half = normal * np.sqrt(share * (1 - share) / size + squared / (4 * size)) / (1 + squared)
    low, high = centre - half, centre + half
    hits, misses, few = share * size, (1 - share) * size, (2 if size <= 50 else 3) + _ROUNDING
    if hits <= few:
        low = min(low, stats.gamma.ppf(2 * tail, hits) / size)
    if misses <= few:
        high = max(high, 1 - stats.gamma.ppf(2 * tail, misses) / size)
    return float(low), float(high)
