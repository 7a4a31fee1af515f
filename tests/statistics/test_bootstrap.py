"""Samples of records."""

import pandas as pd

from tasks.statistics.bootstrap import sample_records


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
