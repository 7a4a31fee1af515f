"""What is not scored is counted: a property of all tables with n and unscored."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pandas as pd

KEYS = ("task", "system", "condition", "item", "metric", "kind")


def check_counts(
    rows_of: Callable[[pd.DataFrame], pd.DataFrame | Iterable[Mapping[str, Any]]], table: pd.DataFrame, column: str
) -> pd.DataFrame:
    """Assert that a value that is missing moves from n to unscored, and takes no row away; returns the rows then.

    A third of the values of ``column`` are missing. Bounds count what they bound, and are left out.
    """
    lost = table.assign(**{column: table[column].mask(pd.Series(range(len(table)), index=table.index) % 3 == 1)})
    counts = []
    for given in (table, lost):
        rows = pd.DataFrame(rows_of(given)).reindex(columns=[*KEYS, "n", "unscored"])
        rows = rows[~rows["metric"].astype(str).str.endswith("_bounds")].fillna({"unscored": 0})
        counts.append(rows.fillna("").set_index([*KEYS])[["n", "unscored"]].sort_index())
    before, after = counts
    pd.testing.assert_series_equal(after.sum(axis=1), before.sum(axis=1), check_dtype=False)
    assert (after["n"] <= before["n"]).all() and after["n"].sum() < before["n"].sum()
    return after
