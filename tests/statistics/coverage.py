"""Simulated studies with a known truth, one kind for each interval that is printed (see `tests.support.simulated`)."""

from functools import partial

import numpy as np

from tasks.baselines.calibration import calibration_error
from tasks.baselines.comparisons import Swaps, compare
from tasks.baselines.scoring import Scored
from tasks.baselines.targets import Target
from tasks.statistics.agreement import correlation_interval, kappa_interval, krippendorff_interval
from tasks.statistics.intervals import (
    COUNT,
    Interval,
    count_ratio_interval,
    mean_interval,
    ratio_interval,
    statistic_interval,
)
from tasks.statistics.metric_rows import detection_rows
from tasks.statistics.misclassification import corrected_mean
from tasks.statistics.prediction_powered import powered_share
from tests.statistics import agreement_studies
from tests.statistics.agreement_studies import correlated, in_order
from tests.support.simulated import Draw, Study, clustered, judged, raters

SIZES, SHARES = (5, 8, 20, 50, 200), (0.5, 0.8, 0.95, 0.99)


def share(draw: Draw, n: int, p: float) -> tuple[float, Interval]:
    return p, mean_interval(draw.random(n) < p)


def share_of_clusters(draw: Draw, n: int, p: float) -> tuple[float, Interval]:
    items, clusters = clustered(draw, n, p, 0.3, np.full(n, 10))
    return p, mean_interval(items, clusters=clusters)


def share_of_unequal_clusters(draw: Draw, n: int, p: float) -> tuple[float, Interval]:
    items, clusters = clustered(draw, n, p, 0.2, 1 + draw.poisson(5, n))
    return p, mean_interval(items, clusters=clusters)


def mean_of_scores(draw: Draw, n: int, p: float) -> tuple[float, Interval]:
    items, clusters = clustered(draw, n, p, 0.3, np.full(n, 10))
    return p, mean_interval(np.bincount(clusters, weights=items) / 10)


def f1(draw: Draw, n: int, p: float) -> tuple[float, Interval]:
    """Each note has 1 + Poisson(4) labels, of which a share p is found, and one wrong prediction for each missed."""
    labels = 1 + draw.poisson(4, n)
    hits = draw.binomial(labels, p)
    wrong = draw.poisson(labels * (1 - p))
    return p, ratio_interval(2 * hits, labels + hits + wrong)


def mean_of_counts(draw: Draw, n: int, p: float) -> tuple[float, Interval]:
    """Poisson counts with mean 10 (1 - p) + 1."""
    return 10 * (1 - p) + 1, mean_interval(draw.poisson(10 * (1 - p) + 1, n), bounds=COUNT)


def words_of_spans(draw: Draw, n: int, p: float) -> tuple[float, Interval]:
    """A note has 1 + Poisson(4) spans of 1 + Poisson(10 (1 - p)) words, all longer or shorter than those of others."""
    spans = 1 + draw.poisson(4, n)
    wordy = draw.gamma(10, 0.1, n)
    words = spans + draw.poisson(spans * wordy * 10 * (1 - p))
    return 10 * (1 - p) + 1, count_ratio_interval(words, spans)


def mean_without_bounds(draw: Draw, n: int, p: float) -> tuple[float, Interval]:
    """Differences of two uniform scores, one of which is larger by p."""
    return p, mean_interval(p + draw.random(n) - draw.random(n), bounds=None)


def deviation(draw: Draw, n: int, p: float) -> tuple[float, Interval]:
    """Standard deviation of normal values on the log scale, as for the deviation of omissions."""
    values = draw.normal(0, 1 + p, n)
    return np.log(1 + p), statistic_interval(lambda at: np.log(np.std(values[at], ddof=1)), n, bounds=None)


def kappa(draw: Draw, n: int, p: float) -> tuple[float, Interval]:
    return p**2, kappa_interval(*raters(draw, n, p, 2))


def alpha(draw: Draw, n: int, p: float) -> tuple[float, Interval]:
    return p**2, krippendorff_interval(raters(draw, n, p, 3))


def kendall(draw: Draw, n: int, p: float) -> tuple[float, Interval]:
    """Two lists of which a share p of the pairs are in the same order."""
    return 2 * p - 1, correlation_interval(*correlated(draw, n, in_order(p)), "kendall")


def spearman(draw: Draw, n: int, p: float) -> tuple[float, Interval]:
    """The lists of `kendall`."""
    rho = in_order(p)
    return 6 / np.pi * np.arcsin(rho / 2), correlation_interval(*correlated(draw, n, rho), "spearman")


def precision_at_half(draw: Draw, n: int, p: float) -> tuple[float, Interval]:
    """n cases of each truth; the judge is right with probability p on either."""
    truth = np.repeat([True, False], n)
    judged = np.where(draw.random(2 * n) < p, truth, ~truth)
    row = detection_rows(truth, judged, np.arange(2 * n), seed=int(draw.integers(1e9)))[2]
    return p, (row["value"], row["low"], row["high"])


def powered(draw: Draw, n: int, p: float) -> tuple[float, Interval]:
    """n labels of 600 items."""
    truth = (draw.random(600) < p).astype(float)
    verdicts = judged(draw, truth)
    return p, powered_share(truth[:n], verdicts[:n], verdicts[n:], seed=int(draw.integers(1e9)))


def powered_of_clusters(draw: Draw, n: int, p: float) -> tuple[float, Interval]:
    """Labels of n notes of five items each, of 240 notes in all."""
    truth, notes = clustered(draw, 240, p, 0.3, np.full(240, 5))
    verdicts, at = judged(draw, truth), 5 * n
    of = {"clusters": notes[:at], "clusters_only": notes[at:]}
    return p, powered_share(truth[:at], verdicts[:at], verdicts[at:], seed=int(draw.integers(1e9)), **of)


def corrected(draw: Draw, n: int, p: float) -> tuple[float, Interval]:
    """Scores of n notes of ten items, corrected by 20 n cases of each truth."""
    truth, notes = clustered(draw, n, p, 0.3, np.full(n, 10))
    scores = np.bincount(notes, weights=judged(draw, truth)) / 10
    cases = np.repeat([1, 0], 20 * n)
    return p, corrected_mean(scores, cases, judged(draw, cases), np.arange(cases.size), seed=int(draw.integers(1e9)))


def predictor(draw: Draw, labels: np.ndarray, values: int, p: float) -> Scored:
    """A model whose predictions are right with probability p, and otherwise one of the other values."""
    predicted = np.where(
        draw.random(len(labels)) < p, labels, (labels + draw.integers(1, values, len(labels))) % values
    )
    target = Target("cough", tuple("abc"[:values]))
    return Scored("s", "c", target, np.arange(len(labels)), labels, (0,), (np.eye(values)[predicted],))


def predictor_f1(draw: Draw, n: int, p: float) -> tuple[float, Interval]:
    """n records, 40% of which have the symptom."""
    hits, predicted = 0.4 * p, 0.4 * p + 0.6 * (1 - p)
    model = predictor(draw, (draw.random(n) < 0.4).astype(np.int64), 2, p)
    return 2 * hits / (0.4 + predicted), model.interval("f1", 10)


def predictor_macro_f1(draw: Draw, n: int, p: float) -> tuple[float, Interval]:
    """n records, three values as frequent as each other."""
    return p, predictor(draw, draw.permutation(np.arange(n) % 3), 3, p).interval("f1", 10)


def difference_of_f1(draw: Draw, n: int, p: float) -> tuple[float, Interval]:
    """Two models on the same n records with three values; the second is right with probability 0.6."""
    labels = draw.permutation(np.arange(n) % 3)
    return p - 0.6, compare(predictor(draw, labels, 3, p), predictor(draw, labels, 3, 0.6), Swaps(1, 2))[0]


def calibration(draw: Draw, n: int, p: float) -> tuple[float, Interval]:
    """n records; probabilities are too high by 2 (1 - p) / 5, those of p = .99 hardly."""
    shift = 0.4 * (1 - p)
    yes = shift + (1 - shift) * draw.beta(2, 2, n)
    labels = (draw.random(n) < yes - shift).astype(np.int64)
    return shift, calibration_error(labels, (np.stack([1 - yes, yes], axis=1),), 10)


STUDIES: dict[str, Study] = {
    "share": share,
    "share, clusters of 10": share_of_clusters,
    "share, unequal clusters": share_of_unequal_clusters,
    "mean of scores in 0-1": mean_of_scores,
    "F1 over notes": f1,
    "mean of counts": mean_of_counts,
    "ratio of counts, unequal clusters": words_of_spans,
    "mean without bounds": mean_without_bounds,
    "standard deviation": deviation,
    "Cohen's kappa": kappa,
    "Krippendorff's alpha": alpha,
    "Kendall's tau": kendall,
    "Spearman's rho": spearman,
    "Kendall's tau, four systems a document": partial(agreement_studies.correlation_of_clusters, "kendall", 4),
    "precision at half": precision_at_half,
    "powered share": powered,
    "powered share, notes of five items": powered_of_clusters,
    "corrected share": corrected,
    "F1 of a predictor": predictor_f1,
    "macro F1 of a predictor": predictor_macro_f1,
    "difference of two predictors' F1": difference_of_f1,
    "calibration error": calibration,
    **agreement_studies.STUDIES,
}
RANKS = {"Kendall's tau", "Spearman's rho", "Kendall's tau, four systems a document", "printed rank correlation"}


def shares_of(kind: str) -> tuple[float, ...]:
    """The values of p at which a kind is simulated; a tau of 0.98 is left out, which few ranks can be told from 1."""
    return SHARES[:-1] if kind in RANKS else SHARES
