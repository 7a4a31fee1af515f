"""Agreement between raters and correlation between rankings. The only importer of krippendorff."""

from typing import Literal

import krippendorff
import numpy as np
import numpy.typing as npt
from scipy import stats
from sklearn.metrics import cohen_kappa_score

from tasks.statistics.bootstrap import DRAWS, LEVEL, interval, resamples

Correlation = Literal["spearman", "kendall"]


def krippendorff_alpha(ratings: npt.ArrayLike, level: Literal["nominal", "ordinal", "interval"] = "ordinal") -> float:
    """Krippendorff's alpha of ``ratings`` (raters, units); nan marks a unit that a rater left out.

    nan where alpha is undefined: no unit with two raters, or a single value throughout, so that no disagreement is
    expected by chance (Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability").
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

    Unweighted: Cohen 1960; linear weights: Cicchetti and Allison 1971. nan where the expected agreement is 1.
    """
    one, two = np.asarray(first), np.asarray(second)
    if np.unique(np.concatenate([one, two])).size < 2:
        return np.nan
    return float(cohen_kappa_score(one, two, weights=weights))


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
    """95% bootstrap interval of a rank correlation over units; a resample with a constant list is left out.

    All resamples are computed in one array: a loop over scipy's functions takes minutes for a table of correlations.
    """
    one, two = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    if one.size < 2:
        return (np.nan, np.nan)
    rows = resamples(one.size, seed=seed, draws=draws)
    measure = _spearman_rows if kind == "spearman" else _kendall_rows
    step = max(1, _CELLS // one.size**2)
    values = np.concatenate([measure(one[rows[i : i + step]], two[rows[i : i + step]]) for i in range(0, draws, step)])
    values = values[~np.isnan(values)]
    if values.size == 0:
        return (np.nan, np.nan)
    low, high = np.quantile(values, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


_CELLS = 4_000_000
"""Numbers worked on at a time."""


def _spearman_rows(one: npt.NDArray[np.float64], two: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Spearman's rho of each row of two arrays (draws, units)."""
    return _cosine(_centred_ranks(one), _centred_ranks(two))


def _centred_ranks(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    ranks: npt.NDArray[np.float64] = stats.rankdata(values, axis=1)
    return ranks - ranks.mean(axis=1, keepdims=True)


def _kendall_rows(one: npt.NDArray[np.float64], two: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Kendall's tau-b of each row: the cosine of the signs of all pairs' differences (Kendall 1945)."""
    draws = len(one)
    signs = [np.sign(v[:, :, None] - v[:, None, :]).astype(np.float32).reshape(draws, -1) for v in (one, two)]
    return _cosine(*signs)


def _cosine(one: npt.NDArray, two: npt.NDArray) -> npt.NDArray[np.float64]:
    both = np.einsum("ij,ij->i", one, two, dtype=np.float64)
    norms = np.sqrt(
        np.einsum("ij,ij->i", one, one, dtype=np.float64) * np.einsum("ij,ij->i", two, two, dtype=np.float64)
    )
    return np.divide(both, norms, out=np.full(len(both), np.nan), where=norms > 0)
