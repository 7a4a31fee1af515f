"""Alarms of the monitor in ten years of rounds, and how soon a fall is found; tests/monitoring has a short form."""

import pytest

from tests.monitoring.test_monitoring import alarms, found

pytestmark = pytest.mark.soak


def test_false_alarms_over_ten_years() -> None:
    """3,650 rounds of 40 cases, for rates that are known well and ones near 1."""
    for rate in (0.8, 0.95, 0.99):
        share = alarms(rate, studies=1000, rounds=3650, seed=1)
        print(f"\nrate {rate}: {share:.3f} of 1,000 monitors with an alarm in 3,650 rounds, level 0.025")
        assert share <= 0.025 + 0.01


def test_a_fall_of_five_points_is_found_within_thirty_rounds() -> None:
    for before in (0, 100, 1000):
        share = found(before, studies=1000, seed=2)
        print(f"\nfall from .95 to .90 after {before} rounds: found within 30 rounds in {share:.3f}")
        assert share >= (0.8 if before <= 100 else 0.5)
