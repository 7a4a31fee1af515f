"""Intervals worked out by hand or against published values, and samples of records."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.stats import norm
from statsmodels.stats.proportion import proportion_confint

from tasks.statistics import printed
from tasks.statistics.bootstrap import bias_corrected_interval, sample_records
from tasks.statistics.intervals import (
    COUNT,
    effective_size,
    mean_interval,
    ratio_interval,
    shares_correlation,
    statistic_interval,
)

NAN = np.nan


@pytest.mark.parametrize(("hits", "n"), [(4, 10), (5, 12), (30, 60), (55, 120)])
def test_a_share_has_wilsons_interval(hits: int, n: int) -> None:
    found = mean_interval([1] * hits + [0] * (n - hits))
    assert found == pytest.approx((hits / n, *proportion_confint(hits, n, method="wilson")))


@pytest.mark.parametrize("n", [2, 8, 60])
@pytest.mark.parametrize("all_of", [0, 1])
def test_a_share_of_all_or_none_has_clopper_and_pearsons_interval(n: int, all_of: int) -> None:
    value, low, high = mean_interval([all_of] * n)
    assert value == all_of
    assert (low, high) == pytest.approx(proportion_confint(all_of * n, n, method="beta"))


def test_near_0_and_1_wilsons_interval_is_widened_by_the_poisson_limit() -> None:
    """One of 10: -log(0.95) / 10 is below Wilson's limit of 0.0179; three of 51, but not of 50, count as few."""
    value, low, high = mean_interval([1] + [0] * 9)
    assert (value, low) == pytest.approx((0.1, -np.log(0.95) / 10))
    assert high == pytest.approx(proportion_confint(1, 10, method="wilson")[1])
    assert mean_interval([0] + [1] * 9)[1:] == pytest.approx((1 - high, 1 - low))
    wilson = {n: proportion_confint(3, n, method="wilson")[0] for n in (50, 51)}
    assert mean_interval([1] * 3 + [0] * 47)[1] == pytest.approx(wilson[50])
    assert mean_interval([1] * 3 + [0] * 48)[1] == pytest.approx(stats.chi2.ppf(0.05, 6) / 2 / 51) != wilson[51]
    assert mean_interval([0] * 2 + [1] * 48)[2] == pytest.approx(1 - stats.chi2.ppf(0.05, 4) / 2 / 50)


def test_one_unit_has_no_interval_and_none_no_value() -> None:
    for found in (mean_interval([1.0]), mean_interval([1.0], bounds=None), mean_interval([3.0], bounds=COUNT),
                  ratio_interval([1], [2]), statistic_interval(lambda at: 0.5, 1)):  # fmt: skip
        assert np.isfinite(found[0]) and np.isnan(found[1:]).all()
    assert np.isnan(mean_interval([])).all() and np.isnan(ratio_interval([0], [0])).all()
    assert np.isnan(mean_interval([1, 0, 1], clusters=["a", "a", "a"])[1:]).all()
    assert np.isnan(statistic_interval(lambda at: NAN, 5)).all()


def test_a_mean_of_scores_is_a_share_of_an_effective_number_of_items() -> None:
    """Scores 0.4, 0.6, 0.5, 0.5 vary by 0.02 / 3, the mean by a fourth; one all-or-none unit of .25 / 4 is added.

    (3 * 0.02 / 12 + 0.0625) / 4 = 0.016875 against 0.25: 14.81 items, times (1.96 / 2.776)^2 for t with 4 degrees.
    """
    scores = np.array([0.4, 0.6, 0.5, 0.5])
    shrunk = 0.25 / 0.016875 * (1.959964 / 2.776445) ** 2
    assert effective_size(scores, np.ones(4)) == pytest.approx(shrunk, rel=1e-5)
    value, low, high = mean_interval(scores)
    wilson = proportion_confint(shrunk / 2, shrunk, method="wilson")
    assert (value, low, high) == pytest.approx((0.5, *wilson), abs=1e-5)


def test_items_that_agree_within_their_cluster_count_as_one() -> None:
    sums, sizes = np.array([4.0, 0.0, 4.0, 0.0]), np.full(4, 4.0)
    binomial = 0.25 * 4 / 3 / 4  # of four units, the linearised variance
    expected = 0.25 / ((3 * binomial + 0.25 / 4) / 4) * (1.959964 / 2.776445) ** 2
    assert effective_size(sums, sizes) == pytest.approx(expected, rel=1e-5)
    assert effective_size(np.full(4, 4.0), sizes) == pytest.approx(4 * (1.959964 / 2.776445) ** 2, rel=1e-5)
    items, clusters = np.repeat([1, 0, 1, 0], 4), np.repeat(list("abcd"), 4)
    assert mean_interval(items, clusters=clusters) == pytest.approx(ratio_interval(sums, sizes))
    width = [np.subtract(*found[:0:-1]) for found in (mean_interval(items, clusters=clusters), mean_interval(items))]
    assert width[0] > 1.5 * width[1]
    assert effective_size([2.0], [3.0]) == 1


def test_units_without_a_whole_do_not_count() -> None:
    assert ratio_interval([1, 2, 0], [2, 4, 0]) == ratio_interval([1, 2], [2, 4])


def test_values_between_other_bounds_are_scaled_and_values_outside_are_refused() -> None:
    share = mean_interval([0.5, 0.75, 1.0])
    rating = mean_interval([3.0, 4.0, 5.0], bounds=(1, 5))
    assert rating == pytest.approx([1 + 4 * end for end in share])
    with pytest.raises(ValueError, match=r"value 1\.2 is outside 0 to 1"):
        mean_interval([0.5, 1.2])
    with pytest.raises(ValueError, match="value -1 is outside 0 to inf"):
        mean_interval([-1, 3], bounds=COUNT)


def test_a_mean_without_bounds_has_students_interval() -> None:
    values = [1.0, 4.0, 2.5, 9.0]
    expected = stats.t.interval(0.95, 3, np.mean(values), stats.sem(values))
    assert mean_interval(values, bounds=None) == pytest.approx((4.125, *expected))
    pairs = [1.0, 1.0, 4.0, 4.0]
    assert mean_interval(pairs, bounds=None, clusters=[0, 0, 1, 1]) == pytest.approx(mean_interval([1, 4], bounds=None))


def test_counts_have_a_score_interval_also_where_all_are_0() -> None:
    """Counts 2, 4: variance of the mean 1, that of Poisson counts 1.5; pooled 1.25, a dispersion of 1.25 / 3."""
    value, low, high = mean_interval([2, 4], bounds=COUNT)
    squared = stats.t.ppf(0.975, 2) ** 2 * 1.25 / 3
    for end in (low, high):
        assert (value - end) ** 2 == pytest.approx(squared * end)
    assert mean_interval([0, 0, 0], bounds=COUNT) == pytest.approx((0, 0, stats.t.ppf(0.975, 3) ** 2 / 3))
    assert mean_interval([5, 5], bounds=(5, np.inf))[1] == 5


def test_the_jackknife_of_a_mean_is_the_means_interval() -> None:
    scores = np.array([0.2, 0.9, 0.4, 0.7, 0.6])
    assert statistic_interval(lambda at: scores[at].mean(), 5) == pytest.approx(mean_interval(scores))
    free = statistic_interval(lambda at: scores[at].mean(), 5, bounds=None)
    assert free == pytest.approx(mean_interval(scores, bounds=None))
    clusters = [0, 0, 1, 1, 2]
    found = statistic_interval(lambda at: scores[at].mean(), 5, bounds=None, clusters=clusters)
    without = np.array([scores[2:].mean(), scores[[0, 1, 4]].mean(), scores[:4].mean()])
    half = stats.t.ppf(0.975, 2) * np.sqrt(2 * without.var())
    assert found == pytest.approx((scores.mean(), scores.mean() - half, scores.mean() + half))


def test_two_shares_of_the_same_clusters_are_correlated_as_their_deviations() -> None:
    """Clusters a, b and c with one item of each kind; the first kind has hits in a and b, the second in a."""
    values, first, clusters = [1, 1, 0, 1, 0, 0], [True] * 3 + [False] * 3, list("abcabc")
    deviations = [1 / 3, 1 / 3, -2 / 3], [2 / 3, -1 / 3, -1 / 3]
    assert shares_correlation(values, first, clusters) == pytest.approx(np.corrcoef(*deviations)[0, 1])
    assert shares_correlation([1, 0, 1, 0], [True, True, False, False], list("abab")) == pytest.approx(1)
    assert shares_correlation([1, 0, 0, 1], [True, True, False, False], list("abab")) == pytest.approx(-1)
    assert shares_correlation([1, 0, 1, 0], [True, True, False, False], list("abcd")) == 0
    assert shares_correlation([1, 0], [True, True], list("ab")) == 0


def test_a_unit_without_which_a_statistic_is_undefined_is_left_out() -> None:
    values = np.array([1.0, 0.0, 0.0, 0.0])

    def undefined_without_the_first(at: np.ndarray) -> float:
        return float(values[at].mean()) if 0 in at else NAN

    assert np.isfinite(statistic_interval(undefined_without_the_first, 4)).all()


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


@pytest.mark.parametrize("n", [5, 8, 20, 50, 200])
def test_the_exact_coverage_of_a_share(n: int) -> None:
    covered = []
    for p in (0.5, 0.8, 0.95, 0.99):
        ends = [mean_interval([1] * hits + [0] * (n - hits))[1:] for hits in range(n + 1)]
        held = np.array([low <= p <= high for low, high in ends])
        covered.append(float(stats.binom.pmf(np.arange(n + 1), n, p) @ held))
    assert min(covered) >= 0.92 and np.mean(covered) >= 0.95


def test_printed_figures_have_their_errors() -> None:
    log4 = np.log(4) / 2  # Fisher's transform of 0.6
    half = 1.959964 * (1.18 / 25) ** 0.5  # Bonett and Wright: 1 + 0.6^2 / 2 of 28 - 3
    low, high = proportion_confint(12, 20, method="wilson")
    two = 1.96 * 2**0.5
    for found, expected in (
        (printed.mean_half(2.0, 4), 3.18245),  # Student's t of 3 degrees of freedom
        (printed.rank_correlation_halves(0.6, 28), (0.6 - np.tanh(log4 - half), np.tanh(log4 + half) - 0.6)),
        (printed.rank_correlation_halves(0.0, 20), (np.tanh(1.959964 / 17**0.5),) * 2),
        (printed.rank_correlation_halves(0.6, 19), (np.nan, np.nan)),
        (printed.share_of_pairs(12, 20), (0.6, low, high)),
        (printed.share_halves(0.58, 20), (0.6 - low, high - 0.6)),
        (printed.means_error([3.0, 4.0], [9, 16]), two),
        (printed.deviations_error([6.0, 8.0], [19, 33]), two),  # 36 / 2 (19 - 1) and 64 / 2 (33 - 1)
        (printed.shares_error(0.2, [8, 8]), 1.96 * 0.2),
        (printed.others_errors([1.0, 2.0, 6.0]), [3.0, 1.5, 4.5]),
        (printed.others_errors([1.0, 4.0]), [3.0, 3.0]),
        (printed.others_errors([5.0]), [np.nan]),
    ):
        assert found == pytest.approx(expected, abs=1e-5, nan_ok=True)
