"""False alarms and power of the comparison of lineages at few records; tests/tracking has a short version."""

from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest
from scipy.stats import binomtest

from tasks.tracking.comparison import compare
from tests.support.null_pairs import SIZES, UNEQUAL, alarm_rate, null_pairs

pytestmark = pytest.mark.soak

PAIRS, PARTS = 2000, 8


def _alarms(kind: str, n: int, part: int) -> float:
    return alarm_rate(kind, n, pairs=PAIRS // PARTS, seed=part)


@pytest.mark.parametrize("kind", ["normal", "mixed"])
@pytest.mark.parametrize("n", SIZES)
def test_twenty_null_measures_raise_an_alarm_in_at_most_seven_percent(kind: str, n: int) -> None:
    with ProcessPoolExecutor(2) as pool:
        rates = list(pool.map(_alarms, [kind] * PARTS, [n] * PARTS, range(PARTS)))
    rate = float(np.mean(rates))
    interval = binomtest(round(rate * PAIRS), PAIRS).proportion_ci(method="wilson")
    print(f"\n{kind}, n = {n}: {rate:.3f} of {PAIRS} null pairs, 95% {interval.low:.3f} to {interval.high:.3f}")
    assert interval.high <= 0.07


@pytest.mark.parametrize("kind", UNEQUAL)
@pytest.mark.parametrize("n", [8, 20, 100, 1000])
def test_lineages_of_equal_means_raise_an_alarm_in_at_most_seven_percent(kind: str, n: int) -> None:
    """Twenty skewed differences around 0, or a model that fails on a quarter of its own errors."""
    pairs = 1000 if n < 1000 else 200
    rate = alarm_rate(kind, n, pairs=pairs, seed=3)
    print(f"\n{kind}, n = {n}: {rate:.3f} of {pairs} pairs")
    assert rate <= 0.07


def test_a_shift_of_all_measures_by_1_5_sd_is_found_with_20_records() -> None:
    draw = np.random.default_rng(9)
    found = [compare(null_pairs(draw, "normal", 20, shift=1.5), seed=seed)["changed"].mean() for seed in range(200)]
    print(f"\nshifted measures found with 20 records: {np.mean(found):.3f}")
    assert np.mean(found) >= 0.8
