"""The number of pairs has the promised power."""

import numpy as np
import pytest
from scipy import stats

from tasks.statistics.power import clustered_size, exact_power, paired_pairs


def test_the_number_of_pairs_gives_the_power_in_simulated_exact_tests() -> None:
    pairs = paired_pairs(0.1, 0.2, power=0.8, level=0.05)
    random = np.random.default_rng(1)
    counts = random.multinomial(pairs, [0.15, 0.05, 0.8], size=4000)  # discordant 0.2, difference 0.1
    discordant, times = np.unique(counts[:, :2], axis=0, return_counts=True)
    p = [stats.binomtest(int(more), int(more + less)).pvalue for more, less in discordant]
    found = float(np.average(np.array(p) <= 0.05, weights=times))
    assert 0.79 < found < 0.83 and found == pytest.approx(exact_power(pairs, 0.1, 0.2, 0.05), abs=0.02)


def test_the_power_of_six_pairs_that_all_differ_by_hand() -> None:
    """Six of six alike (p 2/64) are significant, five of six (14/64) are not; the higher answer has probability 3/4."""
    assert exact_power(6, 0.5, 1.0, 0.05) == pytest.approx(0.75**6 + 0.25**6)
    assert exact_power(5, 0.5, 1.0, 0.05) == 0


def test_a_difference_above_the_share_of_discordant_pairs_is_refused() -> None:
    with pytest.raises(ValueError, match=r"at most 0\.05"):
        paired_pairs(0.1, 0.05, power=0.8, level=0.05)


def test_items_of_clusters_tell_as_much_as_independent_ones_over_the_design_effect() -> None:
    """100 items worth of information from 20 clusters at 0.1: n / (1 + (n / 20 - 1) 0.1) = 100 for n = 180."""
    assert clustered_size(100, 20, 0.1) == 180
    assert clustered_size(100, 20, 0.0) == 100
    assert clustered_size(100, 10, 0.1) is None, "10 clusters at 0.1 never tell more than 100 items do"
