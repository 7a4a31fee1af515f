"""Samples of records, and intervals from resamples."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from tasks.statistics.bootstrap import bias_corrected_interval, sample_records


def test_the_interval_of_a_normal_sample_of_draws_is_closed() -> None:
    draws = norm.ppf((np.arange(200_000) + 0.5) / 200_000)
    wide = 2.2621571628 * np.sqrt(10 / 9)  # Student's t with 9 degrees of freedom
    assert bias_corrected_interval(draws, 0.0, 10) == pytest.approx((-wide, wide), abs=1e-3)
    moved = bias_corrected_interval(draws, 0.5, 10)  # the draws lie half a deviation below the estimate
    assert moved == pytest.approx((1 - wide, 1 + wide), abs=2e-3)


def test_half_of_the_draws_that_equal_the_estimate_lie_below_it() -> None:
    """One below and two equal of four: no bias; the ends are quantiles 0.0085 and 0.9915 of 0, 1, 1 and 2."""
    share = norm.cdf(-2.2621571628 * np.sqrt(10 / 9))
    found = bias_corrected_interval(np.array([0.0, 1.0, 1.0, 2.0]), 1.0, 10)
    assert found == pytest.approx((3 * share, 2 - 3 * share))


def test_without_draws_or_with_one_record_there_is_no_interval() -> None:
    assert np.isnan(bias_corrected_interval(np.full(10, np.nan), 0.5, 10)).all()
    assert np.isnan(bias_corrected_interval(np.arange(10.0), 0.5, 1)).all()


def test_a_sample_holds_distinct_records_in_ascending_order() -> None:
    drawn = sample_records(pd.Series([5, 5, 3, 9, 1, 7]), 4, seed=1)
    assert len(drawn) == 4 == len(set(drawn))
    assert drawn == sorted(drawn)
    assert set(drawn) <= {1, 3, 5, 7, 9}


def test_a_small_set_is_taken_whole() -> None:
    assert sample_records(pd.Series([2, 1, 2]), 2, seed=1) == [1, 2]
    assert sample_records(pd.Series([2, 1]), 5, seed=1) == [1, 2]
