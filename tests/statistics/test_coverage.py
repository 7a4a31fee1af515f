"""Intervals hold the truth as often as they say; tests/soak/test_coverage.py has all sizes and makes the table."""

import numpy as np
import pytest
from scipy import stats

from tasks.statistics.intervals import mean_interval
from tests.statistics.coverage import SHARES, SIZES, SLOW, STUDIES
from tests.support.simulated import coverage


@pytest.mark.parametrize("n", SIZES)
def test_the_exact_coverage_of_a_share(n: int) -> None:
    covered = []
    for p in SHARES:
        ends = [mean_interval([1] * hits + [0] * (n - hits))[1:] for hits in range(n + 1)]
        held = np.array([low <= p <= high for low, high in ends])
        covered.append(float(stats.binom.pmf(np.arange(n + 1), n, p) @ held))
    assert min(covered) >= 0.92 and np.mean(covered) >= 0.95


@pytest.mark.parametrize("kind", [kind for kind in STUDIES if kind not in SLOW])
def test_intervals_of_few_and_many_units(kind: str) -> None:
    slow = kind.startswith("precision at half, ")  # some 10 ms a study
    for n in (50,) if slow else (8, 50):
        covered = [coverage(STUDIES[kind], n, p, runs=150, seed=2)[0] for p in (0.5, 0.95)]
        assert np.mean(covered) >= 0.92, (n, covered)


@pytest.mark.parametrize("kind", sorted(SLOW))
def test_intervals_by_the_jackknife(kind: str) -> None:
    n = 20 if kind == "printed rank correlation" else 12  # without an interval below
    covered = [coverage(STUDIES[kind], n, p, runs=60, seed=2)[0] for p in (0.5, 0.8)]
    assert np.mean(covered) >= 0.9
