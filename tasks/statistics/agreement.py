"""Agreement between raters and correlation between rankings. The only importer of krippendorff."""

from typing import Literal

import krippendorff
import numpy as np
import numpy.typing as npt
from scipy import stats

from tasks.statistics.bootstrap import DRAWS, interval

Correlation = Literal["spearman", "kendall"]


def krippendorff_alpha(ratings: npt.ArrayLike, level: Literal["nominal", "ordinal", "interval"] = "ordinal") -> float:
    """Krippendorff's alpha of ``ratings`` (raters, units); nan marks a unit that a rater left out.

    nan where alpha is not defined: fewer than two raters of one unit, or one value throughout, so that no
    disagreement is expected by chance (Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability").
    """
    array = np.atleast_2d(np.asarray(ratings, dtype=float))
    paired = array[:, (~np.isnan(array)).sum(axis=0) >= 2]
    if np.unique(paired[~np.isnan(paired)]).size < 2:
        return np.nan
    return float(krippendorff.alpha(reliability_data=paired, level_of_measurement=level))


def krippendorff_interval(
    ratings: npt.ArrayLike,
    *,
    seed: int,
    level: Literal["nominal", "ordinal", "interval"] = "ordinal",
    draws: int = DRAWS,
) -> tuple[float, float]:
    """95% bootstrap interval of alpha, resampling units (columns)."""
    array = np.atleast_2d(np.asarray(ratings, dtype=float))
    return interval(lambda units: krippendorff_alpha(array[:, units], level), array.shape[1], seed=seed, draws=draws)


def cohen_kappa(first: npt.ArrayLike, second: npt.ArrayLike, weights: Literal["linear"] | None = None) -> float:
    """Cohen's kappa of two raters' values (units,); ``linear`` weighs a disagreement by its distance in ranks.

    Plain: Cohen 1960; linear weights: Cicchetti and Allison 1971. nan where chance alone already agrees throughout.
    """
    one, two = np.asarray(first), np.asarray(second)
    values = np.unique(np.concatenate([one, two]))
    observed = np.zeros((values.size, values.size))
    np.add.at(observed, (np.searchsorted(values, one), np.searchsorted(values, two)), 1)
    expected = np.outer(observed.sum(axis=1), observed.sum(axis=0)) / max(one.size, 1)
    ranks = np.arange(values.size)
    distance = np.abs(ranks[:, None] - ranks[None, :]) if weights else (ranks[:, None] != ranks[None, :])
    chance = float((distance * expected).sum())
    return float(1 - (distance * observed).sum() / chance) if chance else np.nan


def correlation(first: npt.ArrayLike, second: npt.ArrayLike, kind: Correlation) -> float:
    """Spearman's rho or Kendall's tau-b of two score lists (units,); nan where one of them is constant."""
    one, two = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    if np.unique(one).size < 2 or np.unique(two).size < 2:
        return np.nan
    measure = stats.spearmanr if kind == "spearman" else stats.kendalltau
    return float(measure(one, two).statistic)


def correlation_interval(
    first: npt.ArrayLike, second: npt.ArrayLike, kind: Correlation, *, seed: int, draws: int = DRAWS
) -> tuple[float, float]:
    """95% bootstrap interval of a rank correlation, resampling units."""
    one, two = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    return interval(lambda rows: correlation(one[rows], two[rows], kind), one.size, seed=seed, draws=draws)
