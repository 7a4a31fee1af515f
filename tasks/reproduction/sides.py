"""The values that decide a conclusion: rows of a metric table, or figures that a paper prints, with their intervals."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from tasks.reproduction.published import load_published
from tasks.statistics.intervals import mean_interval

_COLUMNS = ("system", "condition", "item", "metric")
_TAIL = 0.025
FEWEST_PRINTED = 20
"""Fewest pairs behind a printed rank correlation that is given an interval."""
_BONETT_WRIGHT = 0.5
"""Variance of a Spearman correlation's Fisher transform: (1 + r^2 / 2) / (n - 3) (Bonett and Wright 2000)."""


class Side(NamedTuple):
    """A value, the half widths of its 95% interval below and above (nan where there is none), and its n."""

    value: float
    below: float
    above: float
    n: int


def side(wanted: Mapping[str, Any], tables: Mapping[str, pd.DataFrame]) -> Side:
    """The value that one side of an entry of conclusions.yaml names. Raises KeyError for rows that are not there."""
    if "value" in wanted:
        return Side(float(wanted["value"]), 0.0, 0.0, 0)
    return _printed(wanted) if "printed" in wanted else _measured(wanted, tables)


def _measured(wanted: Mapping[str, Any], tables: Mapping[str, pd.DataFrame]) -> Side:
    """The mean of the rows and of their half widths, which is that of rows on the same texts at the worst."""
    keys = {name: wanted[name] for name in _COLUMNS if name in wanted}
    place = f"{wanted['table']}: {', '.join(str(value) for value in keys.values())}"
    if wanted["table"] not in tables:
        raise KeyError(place)
    rows = tables[wanted["table"]].dropna(subset="value")
    for name, value in keys.items():
        rows = rows[rows[name].isin(value if isinstance(value, list) else [value])]
    if rows.empty:
        raise KeyError(place)
    if "interval" in wanted:
        pairs = zip(rows["value"], rows["n"], strict=True)
        halves = np.array([_INTERVALS[wanted["interval"]](value, n) for value, n in pairs])
    else:
        halves = np.column_stack([rows["value"] - rows["low"], rows["high"] - rows["value"]])
    below, above = halves.mean(axis=0)
    return Side(float(rows["value"].mean()), float(below), float(above), int(rows["n"].min()))


def _printed(wanted: Mapping[str, Any]) -> Side:
    """A printed figure: a mean with its standard deviation over ``n`` texts, or a correlation of ``n`` pairs."""
    rows = _frame(wanted)
    if wanted["row"] not in rows.index:
        raise KeyError(f"{wanted['printed']}: {wanted['row']}")
    row, n = rows.loc[wanted["row"]], int(wanted["n"])
    value = float(row[wanted["figure"]])
    if "std" in wanted:
        half = float(stats.t.isf(_TAIL, n - 1) * row[wanted["std"]] / np.sqrt(n))
        return Side(value, half, half, n)
    return Side(value, *_INTERVALS[wanted["interval"]](value, n), n)


def _frame(wanted: Mapping[str, Any]) -> pd.DataFrame:
    """A printed table with the texts of column ``by`` (its first) as index, and only the rows that ``where`` names."""
    frame = load_published(wanted["printed"])
    for name, value in wanted.get("where", {}).items():
        frame = frame[frame[name] == value]
    return frame.set_index(wanted.get("by", frame.columns[0]))


def _correlation(value: float, n: int) -> tuple[float, float]:
    """Half widths of a rank correlation of ``n`` pairs; nan for fewer than `FEWEST_PRINTED`."""
    if n < FEWEST_PRINTED:
        return np.nan, np.nan
    half = stats.norm.isf(_TAIL) * np.sqrt((1 + _BONETT_WRIGHT * value**2) / (n - 3))
    middle = np.arctanh(value)
    return float(value - np.tanh(middle - half)), float(np.tanh(middle + half) - value)


def _share(value: float, n: int) -> tuple[float, float]:
    """Half widths of a share of ``n`` independent items."""
    hits = round(value * n)
    found, low, high = mean_interval(np.repeat([1.0, 0.0], [hits, n - hits]))
    return float(found - low), float(high - found)


_INTERVALS: dict[str, Callable[[float, int], tuple[float, float]]] = {"correlation": _correlation, "share": _share}


def larger(first: Mapping[str, Any], second: Mapping[str, Any]) -> tuple[int, int]:
    """In how many pairs of printed figures the first is larger, and of how many; an equal pair counts as not larger.

    Figures are paired by line: in the order named, or, where no lines are named, by their texts. One line, column or
    value of the second side goes with all of the first. Raises ValueError for tables that do not fit.
    """
    ours = _figures(first)
    if "value" in second:
        theirs: Any = float(second["value"])
    else:
        other = _figures(second)
        if "rows" not in first and list(ours.index) != list(other.index):
            raise ValueError(f"lines of {first['printed']} and {second['printed']} differ: name rows in both")
        theirs = other.to_numpy(float)
    differences = np.ravel(ours.to_numpy(float) - theirs)
    told = differences[~np.isnan(differences)]
    return int((told > 0).sum()), len(told)


def _figures(wanted: Mapping[str, Any]) -> pd.DataFrame:
    """The named lines and columns of a printed table, less the lines ``minus``."""
    frame = _frame(wanted)[wanted["columns"]]
    if "rows" not in wanted:
        return frame
    found = frame.loc[wanted["rows"]]
    return found - frame.loc[wanted["minus"]].to_numpy() if "minus" in wanted else found


def share_of_pairs(hits: int, pairs: int) -> tuple[float, float, float]:
    """The share of pairs with its 95% interval."""
    return mean_interval(np.repeat([1.0, 0.0], [hits, pairs - hits]))


def coin_passes(pairs: int) -> float:
    """The chance that ``pairs`` tosses of a fair coin have an interval above a half."""
    passing = [hits for hits in range(pairs + 1) if share_of_pairs(hits, pairs)[1] > 0.5]
    return float(stats.binom.pmf(passing, pairs, 0.5).sum())
