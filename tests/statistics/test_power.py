"""The number of pairs has the promised power."""

import numpy as np
import pytest
from scipy import stats

from tasks.statistics.power import paired_pairs


def test_the_number_of_pairs_gives_the_power_in_simulated_tests() -> None:
    pairs = paired_pairs(0.1, 0.2, power=0.8, level=0.05)
    random = np.random.default_rng(1)
    counts = random.multinomial(pairs, [0.15, 0.05, 0.8], size=4000)  # discordant 0.2, difference 0.1
    z = (counts[:, 0] - counts[:, 1]) / np.sqrt(counts[:, 0] + counts[:, 1])
    found = float(np.mean(np.abs(z) > stats.norm.ppf(0.975)))
    assert 0.77 < found < 0.83


def test_the_number_is_that_of_a_hand_calculation() -> None:
    assert paired_pairs(0.2, 0.5, power=0.9, level=0.05) == 128  # (1.96 sqrt(.5) + 1.2816 sqrt(.46))^2 / .04 = 127.1


def test_a_difference_above_the_share_of_discordant_pairs_is_refused() -> None:
    with pytest.raises(ValueError, match=r"at most 0\.05"):
        paired_pairs(0.1, 0.05, power=0.8, level=0.05)
