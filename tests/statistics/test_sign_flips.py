"""Exact p-values by sign flips, adjusted for several measures."""

from itertools import product

import numpy as np
import pytest

from tasks.statistics.sign_flips import Differences, adjusted_p

DRAW = np.random.default_rng(4)
VALUES = DRAW.normal(0.3, 1, size=12).round(2)


def differences(values: np.ndarray) -> Differences:
    return Differences(np.arange(len(values)), values)


def student(values: np.ndarray, signs: np.ndarray) -> np.ndarray:
    """|t| of each row of signs."""
    flipped = signs * values
    return np.abs(flipped.mean(axis=1)) / (flipped.std(axis=1, ddof=1) / np.sqrt(len(values)))


def test_p_values_are_those_of_the_step_down_maximum_over_all_flips() -> None:
    other = DRAW.normal(0.9, 1, size=12).round(2)
    signs = np.array(list(product([-1, 1], repeat=12)))
    flips = np.stack([student(values, signs) for values in (VALUES, other)])
    observed = flips[:, -1]
    larger, smaller = np.argsort(-observed)
    first = (flips.max(axis=0) >= observed[larger] - 1e-9).mean()
    second = max(first, (flips[smaller] >= observed[smaller] - 1e-9).mean())
    found = adjusted_p([differences(VALUES), differences(other)], np.random.default_rng(1), 20_000)
    assert (found[larger], found[smaller]) == pytest.approx((first, second), abs=0.01)
