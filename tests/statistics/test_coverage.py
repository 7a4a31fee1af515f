"""Intervals hold the truth as often as they say; tests/soak/test_coverage.py has all sizes and makes the table."""

import numpy as np
from scipy import stats

from tasks.statistics.intervals import mean_interval
from tests.statistics.coverage import SHARES, SIZES, SLOW, STUDIES
from tests.support.cases import each
from tests.support.simulated import coverage


@each("n", SIZES)
def test_the_exact_coverage_of_a_share(n: int) -> None:
    covered = []
    for p in SHARES:
        ends = [mean_interval([1] * hits + [0] * (n - hits))[1:] for hits in range(n + 1)]
        held = np.array([low <= p <= high for low, high in ends])
        covered.append(float(stats.binom.pmf(np.arange(n + 1), n, p) @ held))
    assert min(covered) >= 0.92 and np.mean(covered) >= 0.95


KINDS = (
    "share", "share, clusters of 10", "F1 over notes", "mean of counts", "mean without bounds", "Cohen's kappa",
    "precision at half", "powered share", "corrected share", "difference of counts, a fifth lost",
    "difference of F1 of lineages, a tenth of hits lost", "Pearson's r",
)  # fmt: skip
"""One of each formula."""


@each("kind", KINDS)
def test_intervals_hold_the_truth(kind: str) -> None:
    """Of 100 studies of an interval that holds the truth in 95%, 89 or fewer hold it with a probability of 1%."""
    shares = (0.5, 0.8) if kind in SLOW else (0.5, 0.95)
    few = 20 if kind.startswith("precision at half, ") else 8  # with fewer hardly any study has an interval
    sizes = (20,) if kind in SLOW else (few, 50)
    covered = [coverage(STUDIES[kind], n, p, runs=100 // len(sizes) // 2, seed=2)[0] for n in sizes for p in shares]
    assert np.mean(covered) >= 0.9, covered
