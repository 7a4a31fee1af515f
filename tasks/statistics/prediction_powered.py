"""Prediction-powered inference of a mean: few human labels and many verdicts of a judge.

Angelopoulos, Bates, Fannjiang, Jordan and Zrnic 2023, "Prediction-Powered Inference", Algorithm 1; the weight of the
verdicts is tuned as in Angelopoulos, Duchi and Zrnic 2023, "PPI++", Example 6.1.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import stats

from tasks.statistics.bootstrap import LEVEL

Values = npt.NDArray[np.float64]


@dataclass(frozen=True)
class PoweredMean:
    """The estimate with its 95% interval.

    ``weight`` is the share of the verdicts that is used: 0 ignores the judge, 1 trusts the labels for its bias alone.
    ``effective_labels`` is the number of human labels that would give the same standard error without a judge.
    """

    value: float
    low: float
    high: float
    weight: float
    effective_labels: float


def powered_mean(
    labels: npt.ArrayLike,
    judged: npt.ArrayLike,
    judged_only: npt.ArrayLike,
    *,
    weight: float | None = None,
    clusters: npt.ArrayLike | None = None,
    clusters_only: npt.ArrayLike | None = None,
) -> PoweredMean:
    """Estimate the mean human label over all items.

    ``labels`` (n,) are human labels and ``judged`` (n,) the judge's verdicts of the same items; ``judged_only`` (N,)
    are verdicts of items without a label. ``weight`` None tunes it to the smallest variance. ``clusters`` (n,) and
    ``clusters_only`` (N,) name the note of each item: items of a note are not independent. If all items are labelled,
    it is the mean label. All nan for fewer than two labels.
    """
    label, verdict, more = (np.asarray(values, dtype=float) for values in (labels, judged, judged_only))
    if label.shape != verdict.shape:
        raise ValueError(f"{label.size} labels and {verdict.size} verdicts; expected a verdict for each label")
    if label.size < 2:
        return PoweredMean(*(float("nan"),) * 5)
    if more.size == 0:
        tuned, value, variance = 0.0, label.mean(), _variance_of_mean(label, clusters)
    else:
        tuned = _tuned_weight(label, verdict, more) if weight is None else weight
        value = tuned * more.mean() + (label - tuned * verdict).mean()
        variance = _variance_of_mean(tuned * more, clusters_only) + _variance_of_mean(label - tuned * verdict, clusters)
    margin = stats.norm.ppf((1 + LEVEL) / 2) * np.sqrt(variance)
    effective = float(label.var() / variance) if variance > 0 else float("nan")
    return PoweredMean(float(value), float(value - margin), float(value + margin), float(tuned), effective)


def _tuned_weight(label: Values, verdict: Values, more: Values) -> float:
    """Cov(label, verdict) / ((1 + n/N) Var(verdict)), cut to [0, 1] (PPI++, Example 6.1)."""
    spread = np.concatenate([verdict, more]).var(ddof=1)
    if spread == 0:
        return 0.0
    covariance = ((label - label.mean()) * (verdict - verdict.mean())).mean()
    return float(np.clip(covariance / ((1 + label.size / more.size) * spread), 0.0, 1.0))


def _variance_of_mean(values: Values, clusters: npt.ArrayLike | None) -> float:
    """Variance of the mean of ``values``; deviations are summed within a cluster first, where clusters are given."""
    deviations = values - values.mean()
    if clusters is not None:
        _, of = np.unique(np.asarray(clusters), return_inverse=True)
        deviations = np.bincount(of, weights=deviations)
    return float((deviations**2).sum() / values.size**2)
