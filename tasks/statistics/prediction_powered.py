"""The share of items that are true, from a few human labels and a judge's verdicts on all items.

The labels are a random sample of the items. The share is estimated within each verdict and added up by the share of
each verdict among all items (post-stratification), as prediction-powered inference does for a judge that says yes or no
(Angelopoulos, Bates, Fannjiang, Jordan and Zrnic 2023, "Prediction-Powered Inference"). Its interval
melds mid-p intervals of the parts (Fay, Proschan and Brittain 2015, "Combining One-Sample Confidence Procedures for
Inference in the Two-Sample Case"), which holds for few labels, where the published normal interval does not.
"""

import numpy as np
import numpy.typing as npt

from tasks.statistics.intervals import LEVEL, Floats, Interval, cluster_sums, effective_size

DRAWS = 4000
FEWEST_LABELS = 5
"""Clusters of labels below which only the labels' own interval is given."""


def powered_share(
    labels: npt.ArrayLike,
    judged: npt.ArrayLike,
    judged_only: npt.ArrayLike,
    *,
    seed: int,
    clusters: npt.ArrayLike | None = None,
    clusters_only: npt.ArrayLike | None = None,
) -> Interval:
    """The share of true items with its 95% interval; all nan for labels of fewer than `FEWEST_LABELS` clusters.

    ``labels`` (n,) are human labels and ``judged`` (n,) the judge's verdicts on the same items; ``judged_only`` (N,)
    are verdicts on items without a label. ``clusters`` (n,) and ``clusters_only`` (N,) name the note of each item:
    items of a note are not independent. Raises ValueError for labels and verdicts of different numbers.
    """
    label, verdict, more = (np.asarray(values, dtype=float) for values in (labels, judged, judged_only))
    if label.shape != verdict.shape:
        raise ValueError(f"{label.size} labels and {verdict.size} verdicts; expected a verdict for each label")
    notes = np.arange(label.size) if clusters is None else np.asarray(clusters)
    others = label.size + np.arange(more.size) if clusters_only is None else np.asarray(clusters_only)
    if np.unique(notes).size < FEWEST_LABELS:
        return (np.nan, np.nan, np.nan)
    verdicts = np.concatenate([verdict, more])
    size = effective_size(*cluster_sums(verdicts, np.concatenate([notes.astype("str"), others.astype("str")])))
    dependence = max(1.0, label.size / effective_size(*cluster_sums(label, notes)))
    random = np.random.default_rng(seed)
    yes = drawn_share(float(verdicts.mean()), size, random, DRAWS)
    value, drawn = 0.0, np.zeros(DRAWS)
    for said, share, weights in ((1, verdicts.mean(), yes), (0, 1 - verdicts.mean(), 1 - yes)):
        own = label[verdict == said]
        right, labels = (float(own.mean()), own.size / dependence) if own.size else (0.5, 0.0)
        value += float(share * right)
        drawn += weights * drawn_limit(right, labels, random, DRAWS)
    low, high = np.quantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return value, min(float(low), value), max(float(high), value)


def drawn_limit(share: float, size: float, random: np.random.Generator, draws: int) -> Floats:
    """Draws (draws,) from the mid-p confidence distribution of a share of ``size`` items, for melding.

    Its quantiles are the ends of the mid-p intervals of all levels: it is the lower or the upper limit of Clopper and
    Pearson, with probability one half each (Fay and Brittain 2016, "Finite Sample Pointwise Confidence Intervals").
    """
    hits, misses = share * size, (1 - share) * size
    low = random.beta(hits, misses + 1, draws) if hits > 0 else np.zeros(draws)
    high = random.beta(hits + 1, misses, draws) if misses > 0 else np.ones(draws)
    return np.where(random.random(draws) < 0.5, low, high)


def drawn_share(share: float, size: float, random: np.random.Generator, draws: int) -> Floats:
    """Draws (draws,) from the Jeffreys posterior of a share of ``size`` items."""
    return random.beta(share * size + 0.5, (1 - share) * size + 0.5, draws)


def correlated_draws(
    first: Floats, second: Floats, correlation: float, random: np.random.Generator
) -> tuple[Floats, Floats]:
    """The same draws (draws,), independent before, in an order in which they have a ``correlation``.

    Their ranks are those of normal values with this correlation (Iman and Conover 1982, "A Distribution-Free Approach
    to Inducing Rank Correlation Among Input Variables"). Without a correlation the order is kept.
    """
    if correlation == 0:
        return first, second
    one, apart = random.normal(size=(2, first.size))
    other = correlation * one + np.sqrt(max(1 - correlation**2, 0.0)) * apart
    ranks = [np.argsort(np.argsort(values)) for values in (one, other)]
    return np.sort(first)[ranks[0]], np.sort(second)[ranks[1]]
