"""Agreement between raters and correlation between rankings."""

from typing import Literal

import krippendorff
import numpy as np
import numpy.typing as npt
from scipy import stats
from sklearn.metrics import cohen_kappa_score, roc_auc_score

from tasks.statistics.intervals import Interval, mean_interval, statistic_interval

Correlation = Literal["pearson", "spearman", "kendall"]
SIGNED = (-1.0, 1.0)
FEWEST_PAIRS = 4
"""Three pairs have six orders, so that their correlation is seldom other than 1, 0.5, -0.5 or -1."""


def krippendorff_interval(ratings: npt.ArrayLike) -> Interval:
    """Krippendorff's alpha of ``ratings`` (raters, units) on an ordinal scale, with its jackknife interval over units.

    nan marks what a rater left out. Alpha is nan where it is undefined: no unit with two raters, or a single value
    throughout, so that no disagreement is expected by chance.
    """
    array = np.atleast_2d(np.asarray(ratings, dtype=float))
    rated = array[:, (~np.isnan(array)).sum(axis=0) >= 2]

    def alpha(at: npt.NDArray[np.int64]) -> float:
        chosen = rated[:, at]
        several = np.unique(chosen[~np.isnan(chosen)]).size > 1
        return float(krippendorff.alpha(chosen, level_of_measurement="ordinal")) if several else np.nan

    return statistic_interval(alpha, rated.shape[1], bounds=SIGNED)


def cohen_kappa(first: npt.ArrayLike, second: npt.ArrayLike, weights: Literal["linear"] | None = None) -> float:
    """Cohen's kappa of two raters' values (units,); ``linear`` weighs a disagreement by its distance in ranks.

    Unweighted: Cohen 1960; linear weights: Cicchetti and Allison 1971. nan where the expected agreement is 1.
    """
    one, two = np.asarray(first), np.asarray(second)
    if np.unique(np.concatenate([one, two])).size < 2:
        return np.nan
    return float(cohen_kappa_score(one, two, weights=weights))


def kappa_interval(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    weights: Literal["linear"] | None = None,
    clusters: npt.ArrayLike | None = None,
) -> Interval:
    """`cohen_kappa` with its interval: that of the observed disagreement, over the disagreement expected by chance.

    The expected disagreement counts as known. ``clusters`` (units,) as in `mean_interval`.
    """
    one, two = np.asarray(first), np.asarray(second)
    kappa = cohen_kappa(one, two, weights)
    if np.isnan(kappa):
        return (np.nan, np.nan, np.nan)
    values, places = np.unique(np.concatenate([one, two]), return_inverse=True)
    ranks, size = places.reshape(2, -1), len(values)
    apart = np.abs(np.subtract.outer(np.arange(size), np.arange(size))) / (size - 1)
    apart = apart if weights else (apart > 0).astype(float)
    shares = [np.bincount(row, minlength=size) / row.size for row in ranks]
    expected = float(shares[0] @ apart @ shares[1])
    _, low, high = mean_interval(apart[ranks[0], ranks[1]], clusters=clusters)
    return kappa, max(1 - high / expected, -1.0), 1 - low / expected


def correlation(first: npt.ArrayLike, second: npt.ArrayLike, kind: Correlation) -> float:
    """Pearson's r, Spearman's rho or Kendall's tau-b of two score lists (units,); nan where one of them is constant.

    For ranks, values of a list are tied if they agree to 12 digits of its largest one.
    """
    one, two = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    if one.size < 2 or np.ptp(one) == 0 or np.ptp(two) == 0:
        return np.nan
    if kind != "pearson":  # values that differ in their last bits alone, as the same score computed twice, are a tie
        one, two = (np.round(side / np.abs(side).max(), 12) for side in (one, two))
    if kind == "kendall":
        return float(stats.kendalltau(one, two).statistic)
    if kind == "spearman":
        one, two = stats.rankdata(one), stats.rankdata(two)
    # the formula: scipy's tests of no correlation take most of the time of a jackknife
    apart = [side - side.mean() for side in (one, two)]
    unit = [side / np.linalg.norm(side) for side in apart]
    return float(np.clip(unit[0] @ unit[1], -1, 1))


def correlation_interval(
    first: npt.ArrayLike, second: npt.ArrayLike, kind: Correlation, *, clusters: npt.ArrayLike | None = None
) -> Interval:
    """`correlation` of two lists (units,) with its jackknife interval; none for fewer than `FEWEST_PAIRS` units.

    ``clusters`` (units,) names units that vary together, such as the outputs of several systems for one document.
    """
    one, two = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    if np.unique(np.arange(one.size) if clusters is None else np.asarray(clusters)).size < FEWEST_PAIRS:
        return correlation(one, two, kind), np.nan, np.nan
    return statistic_interval(
        lambda at: correlation(one[at], two[at], kind), one.size, bounds=SIGNED, clusters=clusters
    )


def area(positive: npt.ArrayLike, value: npt.ArrayLike, at: npt.NDArray[np.int64]) -> float:
    """Area under the curve of the units ``at``: how values (units,) part the ``positive`` ones; nan of one kind."""
    truth = np.asarray(positive, dtype=bool)[at]
    return float(roc_auc_score(truth, np.asarray(value)[at])) if 0 < truth.sum() < len(truth) else np.nan
