"""Resamples drawn some at a time are those drawn together; samples of records."""

import numpy as np
import pandas as pd
import pytest

from tasks.statistics import bootstrap
from tasks.statistics.bootstrap import resample_blocks, sample_records


@pytest.mark.parametrize("n", [1, 3, 7, 333, 5000])
def test_blocks_are_the_rows_of_all_resamples(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bootstrap, "_CELLS", 1000)
    blocks = list(resample_blocks(n, seed=5, draws=57))
    assert len(blocks) > 1 or n <= 1000 / 57
    assert np.array_equal(np.concatenate(blocks), np.random.default_rng(5).integers(0, n, size=(57, n)))


def test_a_sample_holds_distinct_records_in_ascending_order() -> None:
    drawn = sample_records(pd.Series([5, 5, 3, 9, 1, 7]), 4, seed=1)
    assert len(drawn) == 4 == len(set(drawn))
    assert drawn == sorted(drawn)
    assert set(drawn) <= {1, 3, 5, 7, 9}


def test_the_seed_alone_decides_which_records_are_drawn() -> None:
    records = pd.Series(range(100))
    assert sample_records(records, 10, seed=1) == sample_records(records[::-1], 10, seed=1)
    assert sample_records(records, 10, seed=1) != sample_records(records, 10, seed=2)


def test_a_small_set_is_taken_whole() -> None:
    assert sample_records(pd.Series([2, 1, 2]), 2, seed=1) == [1, 2]
    assert sample_records(pd.Series([2, 1]), 5, seed=1) == [1, 2]
