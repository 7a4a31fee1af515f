"""Resamples that are drawn some at a time are those that are drawn together, and take little memory."""

import tracemalloc

import numpy as np
import pytest

from tasks.statistics import bootstrap
from tasks.statistics.bootstrap import interval, mean_interval, resample_blocks, resamples


@pytest.mark.parametrize("n", [1, 3, 7, 333, 5000])
def test_blocks_are_the_rows_of_all_resamples(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bootstrap, "_CELLS", 1000)
    blocks = list(resample_blocks(n, seed=5, draws=57))
    assert len(blocks) > 1 or n <= 1000 / 57
    assert np.array_equal(np.concatenate(blocks), resamples(n, seed=5, draws=57))


def test_intervals_do_not_depend_on_the_size_of_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(1).normal(size=501)

    def intervals() -> tuple[float, ...]:
        of_median = interval(lambda rows: float(np.median(values[rows])), values.size, seed=2, draws=100)
        return (*mean_interval(values, seed=2, draws=100), *of_median)

    together = intervals()
    monkeypatch.setattr(bootstrap, "_CELLS", 2000)
    assert intervals() == together


def test_the_interval_of_many_values_takes_less_memory_than_all_resamples() -> None:
    values = np.arange(200_000, dtype=float)
    tracemalloc.start()
    mean_interval(values, seed=1, draws=200)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * 200 * values.size / 1.5
