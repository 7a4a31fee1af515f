"""Simulated studies of differences, correlations, agreements and rates of judges, as `tests.statistics.coverage`.

Studies of a lineage or a card call the function that prints the interval, not the method behind it.
"""

from functools import partial

import numpy as np
import pandas as pd
from scipy import stats

from tasks.judges import human_scores
from tasks.measures.note_qa.metrics import effect_rows
from tasks.statistics.agreement import Correlation, correlation_interval, kappa_interval
from tasks.statistics.intervals import Interval, difference_interval, mean_interval
from tasks.statistics.metric_rows import Row, balanced_accuracy, detection_rows, deviation_row
from tasks.statistics.misclassification import corrected_mean
from tasks.statistics.printed import rank_correlation_halves
from tasks.tracking import comparison
from tasks.tracking.measures import Measure
from tasks.tracking.pairing import PairedMeasure, pair
from tests.support.simulated import Draw, clustered, judged, raters

LOSS = 0.1
"""Share of its hits that the second of two systems loses."""


def lost(draw: Draw, n: int, p: float) -> tuple[float, Interval]:
    """The second system has nine tenths of the first one's right answers."""
    first = draw.random(n) < p
    return -LOSS * p, _compared(first, first & (draw.random(n) >= LOSS))


def rarely_lost(draw: Draw, n: int, p: float) -> tuple[float, Interval]:
    """The first system is always right, the second with probability p."""
    return p - 1, _compared(np.ones(n), draw.random(n) < p)


def claims_lost(draw: Draw, n: int, p: float) -> tuple[float, Interval]:
    """Scores of ten claims a note; the second system finds each with a probability that is lower by a twentieth."""
    rates = draw.beta(4 * p, 4 * (1 - p), n)
    first, second = draw.binomial(10, rates) / 10, draw.binomial(10, 0.95 * rates) / 10
    return -p / 20, _compared(first, second)


def independent_shares(draw: Draw, n: int, p: float) -> tuple[float, Interval]:
    """Lineages of other records, n and 2 n of them."""
    sides = (_scores(draw.random(size) < rate, "score") for size, rate in ((n, p), (2 * n, 0.8)))
    return 0.8 - p, _printed(PairedMeasure(*sides, independent=True))


def counts_lost(draw: Draw, n: int, p: float) -> tuple[float, Interval]:
    """Poisson counts with mean 10 (1 - p) + 1, of which the second system has four fifths."""
    first = draw.poisson(10 * (1 - p) + 1, n)
    return -0.2 * (10 * (1 - p) + 1), _compared(first, draw.binomial(first, 0.8), "omission_count")


def skewed(draw: Draw, n: int, p: float) -> tuple[float, Interval]:
    """Exponential differences with mean p."""
    return p, _compared(np.zeros(n), p * draw.exponential(size=n), "words")


def welch(draw: Draw, n: int, p: float) -> tuple[float, Interval]:
    """Lineages of other records, n and 2 n of them, with normal values of unequal spread."""
    sides = (_scores(draw.normal(p, p, n), "words"), _scores(draw.normal(0, 1, 2 * n), "words"))
    return -p, _printed(PairedMeasure(*sides, independent=True))


def lineage_f1(draw: Draw, n: int, p: float) -> tuple[float, Interval]:
    """Two predictors of a symptom that half of the records have; the second misses a tenth of the first one's hits."""
    label, right = draw.random(n) < 0.5, draw.random(n) < p
    first = np.where(right, label, ~label)
    second = first & ~(label & (draw.random(n) < LOSS))

    def f1(hits: float) -> float:
        return 2 * hits / (0.5 + hits + 0.5 * (1 - p))

    def measure(guess: np.ndarray) -> Measure:
        parts = np.stack([label & guess, ~label & guess, label & ~guess], axis=-1).astype(np.float32)
        return Measure(("s", "", "c", "cough", "f1"), np.arange(n), parts[:, None, None, :])

    return f1(0.45 * p) - f1(0.5 * p), _printed(pair(measure(first), measure(second)))


def accuracy_of_clusters(draw: Draw, n: int, p: float) -> tuple[float, Interval]:
    """Right answers of two judges on ten cases of each of n texts; some texts cost the second one more than others."""
    right, clusters = clustered(draw, n, p, 0.3, np.full(n, 10))
    costs = draw.beta(0.3, 2.7, n)[clusters]
    return -LOSS * p, difference_interval(-right * (draw.random(right.size) < costs), clusters=clusters)


def ratings(draw: Draw, n: int, p: float) -> tuple[float, Interval]:
    """A model's rating from 1 to 5 less a person's; they differ by one with probability 1 - p, mostly upwards."""
    person = draw.integers(1, 5, n)
    model = np.where(draw.random(n) < p, person, person + np.where(draw.random(n) < 0.8, 1, -1))
    truth = (1 - p) * (0.8 - 0.2)
    return truth, difference_interval(model - person, reach=4.0)


def flips(draw: Draw, n: int, p: float) -> tuple[float, Interval]:
    """Share of pairs of three takes of a verdict that differ, of four cases of each of n texts."""
    rates = draw.beta(2 * p, 2 * (1 - p), n)
    yes = draw.binomial(3, np.repeat(rates, 4))
    truth = 2 * p * (1 - p) * 2 / 3  # of a beta distribution with the sum of parameters 2
    return truth, mean_interval(2 * yes * (3 - yes) / 6, clusters=np.repeat(np.arange(n), 4))


def correlated(draw: Draw, n: int, p: float) -> tuple[np.ndarray, np.ndarray]:
    """Normal scores with the correlation p, half of which belongs to each side."""
    one, other = draw.normal(size=(2, n))
    return one, p * one + np.sqrt(1 - p**2) * other


def pearson(draw: Draw, n: int, p: float) -> tuple[float, Interval]:
    return p, correlation_interval(*correlated(draw, n, p), "pearson")


def in_order(p: float) -> float:
    """The correlation of normal scores of which a share p of the pairs are in the same order."""
    return float(np.sin(np.pi / 2 * (2 * p - 1)))


def correlation_of_clusters(kind: Correlation, systems: int, draw: Draw, n: int, p: float) -> tuple[float, Interval]:
    """Systems' outputs for each of n documents; half of the variance of both scores belongs to the document."""
    rho = in_order(p) if kind == "kendall" else p
    own, parts = correlated(draw, n, rho), [correlated(draw, n, rho) for _ in range(systems)]
    one, other = (np.concatenate([own[at] + part[at] for part in parts]) for at in (0, 1))
    truth = {"pearson": p, "spearman": 6 / np.pi * np.arcsin(p / 2), "kendall": 2 * p - 1}[kind]
    return truth, correlation_interval(one, other, kind, clusters=np.tile(np.arange(n), systems))


def pearson_difference(draw: Draw, n: int, p: float) -> tuple[float, Interval]:
    """People's score of n documents correlates at p with one metric and at 0.5 with another."""
    score, first = correlated(draw, n, p)
    second = 0.5 * score + np.sqrt(0.75) * draw.normal(size=n)
    table = pd.DataFrame({"document": np.arange(n), "first": first, "second": second, "score": score})
    (row,) = human_scores.difference_rows(table, [("first", "second")], ["score"], {"all": np.full(n, True)})
    return p - 0.5, _of(row)


def auc(draw: Draw, n: int, p: float) -> tuple[float, Interval]:
    """A third of n summaries has a hallucination; their values are lower with probability p."""
    wrong = draw.permutation(np.arange(n) % 3 == 0)
    value = draw.normal(size=n) - np.sqrt(2) * stats.norm.ppf(p) * wrong
    table = pd.DataFrame({"document": np.arange(n), "metric": value, "rate": wrong.astype(float)})
    return p, _of(human_scores.detection_rows(table, ["metric"], "rate")[0])


def judge_card(draw: Draw, n: int, p: float) -> tuple[float, Interval]:
    """n texts with two true and two false claims, judged rightly with probability p."""
    truth, texts = np.tile([True, True, False, False], n), np.repeat(np.arange(n), 4)
    rates = np.repeat(draw.beta(9 * p, 9 * (1 - p), n), 4)
    verdicts = np.where(draw.random(4 * n) < rates, truth, ~truth)
    return p, balanced_accuracy(truth, verdicts, texts)


def weighted_kappa(draw: Draw, n: int, p: float) -> tuple[float, Interval]:
    """Two raters give the true one of three values with probability p, else any; linear weights keep p squared."""
    return p**2, kappa_interval(*raters(draw, n, p, 3), "linear")


def kappa_of_clusters(draw: Draw, n: int, p: float) -> tuple[float, Interval]:
    """Four items of each of n notes; two raters agree as in the study of kappa, in some notes more than in others."""
    truth = draw.integers(0, 2, 4 * n)
    sure = draw.random(4 * n) < np.repeat(draw.beta(9 * p, 9 * (1 - p), n), 4)
    first, second = truth, np.where(sure, truth, draw.integers(0, 2, 4 * n))
    return p, kappa_interval(first, second, clusters=np.repeat(np.arange(n), 4))


def slope(draw: Draw, n: int, p: float) -> tuple[float, Interval]:
    """Four questions to each of n patients with one to three notes; each further note costs (1 - p) / 4."""
    notes = draw.permutation(np.arange(n) % 3) + 1
    patients = np.repeat(np.arange(n), 4)
    score = (draw.random(4 * n) < p - (1 - p) / 4 * (notes[patients] - 2)).astype(float)
    columns = {"patient": patients, "score": score, "notes": notes[patients], "tokens": 1.0, "level": 1}
    rows = effect_rows(pd.DataFrame(columns))
    (row,) = (one for one in rows if one["metric"] == "score_change_a_note")
    return -(1 - p) / 4, _of(row)


def deviation_of_counts(draw: Draw, n: int, p: float) -> tuple[float, Interval]:
    """Standard deviation of Poisson counts with mean 10 (1 - p) + 1 over documents."""
    mean = 10 * (1 - p) + 1
    counts = draw.poisson(mean, n).astype(float)
    return float(np.sqrt(mean)), _of(deviation_row("omission_count_std", counts))


def corrected_by_clusters(draw: Draw, n: int, p: float) -> tuple[float, Interval]:
    """Scores of 100 notes of ten items, corrected by n notes with five planted cases of each truth."""
    truth, notes = clustered(draw, 100, p, 0.3, np.full(100, 10))
    scores = np.bincount(notes, weights=judged(draw, truth)) / 10
    at = np.repeat(np.arange(n), 5)
    said = []
    for rate in (0.9, 0.3):
        rates = draw.beta(9 * rate, 9 * (1 - rate), n)
        said.append(draw.random(at.size) < rates[at])
    cases = np.repeat([1, 0], at.size), np.concatenate(said), np.tile(at, 2)
    return p, corrected_mean(scores, *cases, seed=int(draw.integers(1e9)))


def precision_of_clusters(draw: Draw, n: int, p: float) -> tuple[float, Interval]:
    """n texts with three cases of each truth; a judge is right with probability p, on some texts more often."""
    truth = np.tile([True, True, True, False, False, False], n)
    rates = np.repeat(draw.beta(9 * p, 9 * (1 - p), n), 6)
    verdicts = np.where(draw.random(6 * n) < rates, truth, ~truth)
    return p, _of(detection_rows(truth, verdicts, np.repeat(np.arange(n), 6), seed=int(draw.integers(1e9)))[2])


def rates_of_texts(metric: str, draw: Draw, n: int, p: float) -> tuple[float, Interval]:
    """n texts with two true and two false claims; all verdicts on a text are right with probability p, else none."""
    truth, texts = np.tile([True, True, False, False], n), np.repeat(np.arange(n), 4)
    verdicts = truth == (draw.random(n) < p)[texts]
    if metric == "balanced_accuracy":
        return p, balanced_accuracy(truth, verdicts, texts)
    return p, _of(detection_rows(truth, verdicts, texts, seed=int(draw.integers(1e9)))[2])


def printed_rank_correlation(draw: Draw, n: int, p: float) -> tuple[float, Interval]:
    """Spearman's correlation as a paper prints it, without its data."""
    one, other = correlated(draw, n, p)
    rho = float(stats.spearmanr(one, other).statistic)
    below, above = rank_correlation_halves(rho, n)
    return 6 / np.pi * np.arcsin(p / 2), (rho, rho - below, rho + above)


def _scores(values: np.ndarray, metric: str) -> Measure:
    parts = np.asarray(values, dtype=np.float32)[:, None, None, None]
    return Measure(("stage", "", "condition", "all", metric), np.arange(len(parts)), parts)


def _compared(first: np.ndarray, second: np.ndarray, metric: str = "score") -> Interval:
    return _printed(pair(_scores(first, metric), _scores(second, metric)))


def _printed(paired: PairedMeasure) -> Interval:
    return paired.b.value() - paired.a.value(), *comparison._interval(paired)


def _of(row: Row) -> Interval:
    return row["value"], row["low"], row["high"]


STUDIES = {
    "difference of shares, a tenth lost": lost,
    "difference of shares, of one system that is always right": rarely_lost,
    "difference of scores of ten claims": claims_lost,
    "difference of shares of other records": independent_shares,
    "difference of counts, a fifth lost": counts_lost,
    "difference, exponential": skewed,
    "difference of means of other records (Welch)": welch,
    "difference of F1 of lineages, a tenth of hits lost": lineage_f1,
    "difference of accuracy, clusters of 10": accuracy_of_clusters,
    "difference of ratings from 1 to 5": ratings,
    "share of takes that differ, clusters of 4": flips,
    "Pearson's r": pearson,
    "Pearson's r, three systems a document": partial(correlation_of_clusters, "pearson", 3),
    "Spearman's rho, three systems a document": partial(correlation_of_clusters, "spearman", 3),
    "difference of two Pearson's r": pearson_difference,
    "area under the curve": auc,
    "balanced accuracy, clusters of 4": judge_card,
    "linearly weighted kappa": weighted_kappa,
    "Cohen's kappa of raters, clusters of 4": kappa_of_clusters,
    "change of the score a note, clusters of 4": slope,
    "standard deviation of counts": deviation_of_counts,
    "corrected share, cases of n notes": corrected_by_clusters,
    "precision at half, clusters of 6": precision_of_clusters,
    "balanced accuracy, texts all right or all wrong": partial(rates_of_texts, "balanced_accuracy"),
    "precision at half, texts all right or all wrong": partial(rates_of_texts, "precision"),
    "printed rank correlation": printed_rank_correlation,
}
