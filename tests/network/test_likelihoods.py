"""Log-likelihoods of one parent configuration, by hand."""

import math

import numpy as np
import pytest

from tasks.network.fitting import noisy_or_terms


def test_noisy_or_without_and_with_a_case_that_has_the_second_value() -> None:
    """Four cases at eta 0.5: no case has it with probability exp(-2), a given one with (1 - exp(-0.5)) exp(-1.5)."""
    terms = noisy_or_terms(np.array([0.5, 0.5]), np.array([4.0, 4.0]), np.array([0.0, 1.0]))
    odds = math.exp(0.5) - 1
    assert terms[0] == pytest.approx([-2.0, math.log(1 - math.exp(-0.5)) - 1.5])
    assert terms[1] == pytest.approx([-4.0, 1 / odds - 3.0])
    assert terms[2] == pytest.approx([0.0, -(odds + 1) / odds**2])
