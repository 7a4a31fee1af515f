"""Simulated coverage of every kind of interval that is printed; writes docs/coverage.csv and its page."""

import numpy as np
import pytest

from tests.statistics.coverage import SIZES, STUDIES, shares_of
from tests.statistics.coverage_table import record
from tests.support.simulated import coverage

pytestmark = pytest.mark.soak

RUNS = 1000
LEAST, LEAST_MEAN = 0.9, 0.94
"""Of a cell, and of the mean over p, which may fall short by two standard errors of the simulation."""


@pytest.mark.parametrize("kind", STUDIES)
def test_each_kind_of_interval_covers_the_truth_at_every_size(kind: str) -> None:
    shares = shares_of(kind)
    cells = {(n, p): coverage(STUDIES[kind], n, p, runs=RUNS, seed=1) for n in SIZES for p in shares}
    record(kind, cells, RUNS)
    error = 2 * np.sqrt(LEAST_MEAN * (1 - LEAST_MEAN) / (RUNS * len(shares)))
    short = []
    for n in SIZES:
        covered = np.array([cells[n, p].covered for p in shares])
        assert np.isnan(covered).all() or not np.isnan(covered).any(), "an interval depends on method and n only"
        if covered.min() < LEAST or covered.mean() < LEAST_MEAN - error:
            short.append((n, covered))
    assert short == []
