"""Simulated coverage of every kind of interval that is printed; writes docs/coverage.csv and its page."""

import pandas as pd
import pytest

from tests.statistics.coverage import SIZES, STUDIES, shares_of
from tests.statistics.coverage_table import MEASURED, record, short
from tests.support.simulated import coverage

pytestmark = pytest.mark.soak

RUNS = 2000


@pytest.mark.parametrize("kind", STUDIES)
def test_each_kind_of_interval_covers_the_truth_at_every_size(kind: str) -> None:
    shares = shares_of(kind)
    record(kind, {(n, p): coverage(STUDIES[kind], n, p, runs=RUNS, seed=1) for n in SIZES for p in shares}, RUNS)
    measured = pd.read_csv(MEASURED).query("interval == @kind")
    missing = measured["covered"].isna().groupby(measured["n"]).mean()
    assert set(missing) <= {0, 1}, "an interval depends on method and n only"
    assert short(measured) == []
