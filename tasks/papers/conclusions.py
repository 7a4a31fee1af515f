"""What the papers conclude, whether it holds here by the committed metric tables, and how that is said.

A side of a comparison is rows of a metric table, or figures that a paper prints, with their intervals. The interval of
their difference is paired where both are measured on the same items and the tables allow it.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from schemas.tables.columns import typed
from schemas.tables.metrics import CONCLUSIONS, basis_kind
from tasks.papers.printed import load_printed, papers
from tasks.papers.reproduction import CLASSES, fits
from tasks.statistics.agreement import SIGNED, correlation
from tasks.statistics.intervals import statistic_difference_interval
from tasks.statistics.printed import mean_half, rank_correlation_halves, share_halves, share_of_pairs

_COLUMNS = ("system", "condition", "item", "metric")


class Side(NamedTuple):
    """A value, the half widths of its 95% interval below and above (nan where there is none), and its n."""

    value: float
    below: float
    above: float
    n: int


def side(wanted: Mapping[str, Any], tables: Mapping[str, pd.DataFrame]) -> Side:
    """The value that one side of a conclusion names. Raises KeyError for rows that are not there."""
    if "value" in wanted:
        return Side(float(wanted["value"]), 0.0, 0.0, 0)
    return _printed(wanted) if "printed" in wanted else _measured(wanted, tables)


def _measured(wanted: Mapping[str, Any], tables: Mapping[str, pd.DataFrame]) -> Side:
    """The mean of the rows and of their half widths, which is that of rows on the same texts at the worst.

    Rows made by the simulator's rules have no interval: they decide nothing about the paper's models.
    """
    keys = {name: wanted[name] for name in _COLUMNS if name in wanted}
    place = f"{wanted['table']}: {', '.join(str(value) for value in keys.values())}"
    if wanted["table"] not in tables:
        raise KeyError(place)
    rows = tables[wanted["table"]].dropna(subset="value")
    for name, value in keys.items():
        rows = rows[rows[name].isin(value if isinstance(value, list) else [value])]
    if "provenance" in wanted:
        rows = rows[fits(rows["provenance"], wanted["provenance"])]
    if rows.empty:
        raise KeyError(place)
    if rows["provenance"].str.contains(RULES).any():
        halves = np.full((1, 2), np.nan)
    elif "interval" in wanted:
        pairs = zip(rows["value"], rows["n"], strict=True)
        halves = np.array([_INTERVALS[wanted["interval"]](value, n) for value, n in pairs])
    else:
        halves = np.column_stack([rows["value"] - rows["low"], rows["high"] - rows["value"]])
    below, above = halves.mean(axis=0)
    return Side(float(rows["value"].mean()), float(below), float(above), int(rows["n"].min()))


def _printed(wanted: Mapping[str, Any]) -> Side:
    """A printed figure: a mean with its standard deviation over ``n`` texts, or a correlation or share of ``n`` pairs.

    Of several figures, which are of different texts, the mean; its half widths are combined as in MOVER (Zou and Donner
    2008).
    """
    rows = _frame(wanted)
    if wanted["row"] not in rows.index:
        raise KeyError(f"{wanted['printed']}: {wanted['row']}")
    row = rows.loc[wanted["row"]]
    figures, sizes = (one if isinstance(one, list) else [one] for one in (wanted["figure"], wanted["n"]))
    values = [float(row[name]) / wanted.get("of", 1) for name in figures]
    if "std" in wanted:
        half = mean_half(float(row[wanted["std"]]), sizes[0])
        return Side(values[0], half, half, sizes[0])
    halves = [_INTERVALS[wanted["interval"]](value, n) for value, n in zip(values, sizes, strict=True)]
    below, above = np.hypot.reduce(halves, axis=0) / len(halves)
    return Side(float(np.mean(values)), float(below), float(above), min(sizes))


def _frame(wanted: Mapping[str, Any]) -> pd.DataFrame:
    """A printed table with the texts of column ``by`` (its first) as index, and only the rows that ``where`` names."""
    frame = load_printed(wanted["printed"])
    for name, value in wanted.get("where", {}).items():
        frame = frame[frame[name] == value]
    return frame.set_index(wanted.get("by", frame.columns[0]))


RULES = "simulator's rules"
"""In the provenance of rows that describe no model."""
_INTERVALS = {"correlation": rank_correlation_halves, "share": share_halves}


def _paired(wanted: Mapping[str, Any], tables: Mapping[str, pd.DataFrame]) -> Side | None:
    """The difference of both sides with its paired interval; None where the table has no such rows (yet).

    Rows of a metric table, or the correlations of two columns of a printed table with others, over its lines.
    """
    if "printed" not in wanted:
        try:
            found = _measured(wanted, tables)
        except KeyError:
            return None
        return Side(-found.value, found.above, found.below, found.n) if wanted.get("reversed") else found
    frame = _frame(wanted)

    def mean_correlation(name: str) -> Callable[[npt.NDArray[np.int64]], float]:
        sides = [(frame[name].to_numpy(), frame[other].to_numpy()) for other in wanted["with"]]
        return lambda at: float(np.mean([correlation(one[at], other[at], "spearman") for one, other in sides]))

    first, second = (mean_correlation(name) for name in wanted["columns"])
    value, low, high = statistic_difference_interval(first, second, len(frame), bounds=SIGNED)
    return Side(value, value - low, high - value, len(frame))


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


PAIRED = "paired"
HOLDS, FAILS, UNTOLD = "holds", "does not hold", "cannot be told"


def stated(section: str = "conclusions") -> list[dict[str, Any]]:
    """The conclusions of the papers' files that a test decides, or those ``undecided``: source, conclusion, needs."""
    return [{"source": source, **one} for source, paper in papers().items() for one in paper[section]]


def tables_needed() -> list[str]:
    """Names of the metric tables, such as ``published/baselines_text``."""
    sides = [one[name] for one in stated() for name in ("first", "second", "paired") if name in one]
    return sorted({str(side["table"]) for side in sides if "table" in side})


def conclusions(
    tables: Mapping[str, pd.DataFrame], chosen: Sequence[Mapping[str, Any]] | None = None, *, strict: bool = True
) -> pd.DataFrame:
    """CONCLUSIONS from METRICS by name, for ``chosen`` ones, by default those of the papers' files.

    Raises ValueError naming the conclusion for rows that a table lacks; if not ``strict``, it cannot be told. One that
    names what it ``needs`` is left out instead (`undecided`).
    """
    rows = [_row(one, tables, strict) for one in (stated() if chosen is None else chosen)]
    return typed([row for row in rows if row is not None], CONCLUSIONS)


def undecided(table: pd.DataFrame) -> list[dict[str, Any]]:
    """What no test decides, and what the CONCLUSIONS ``table`` lacks for want of data: source, conclusion, needs."""
    decided = set(table["conclusion"])
    return [*stated("undecided"), *(one for one in stated() if "needs" in one and one["conclusion"] not in decided)]


def _row(one: Mapping[str, Any], tables: Mapping[str, pd.DataFrame], strict: bool) -> dict[str, Any] | None:
    kept = {name: one[name] for name in ("source", "conclusion", "test", "basis")}
    margin = float(one.get("margin", 0))
    try:
        difference, low, high, n, interval = _compared(one, tables)
    except KeyError as error:
        if "needs" in one:
            return None
        if strict:
            raise ValueError(
                f"tasks/papers/{one['source']}.yaml, {one['conclusion']}: no row of table {error}; name one that it has"
            ) from error
        difference, low, high, n, interval = np.nan, np.nan, np.nan, 0, "none"
    verdict = verdict_of(one["test"], margin, difference, low, high)
    found = {"margin": margin, "difference": difference, "low": low, "high": high, "n": n}
    return {**kept, **found, "interval": interval, "verdict": verdict}


def _compared(one: Mapping[str, Any], tables: Mapping[str, pd.DataFrame]) -> tuple[float, float, float, int, str]:
    """Difference, its interval, n, and how the interval was made."""
    if one["test"] == "pairs":
        hits, pairs = larger(one["first"], one["second"])
        share, low, high = share_of_pairs(hits, pairs)
        return share - 0.5, low - 0.5, high - 0.5, pairs, "share of pairs"
    if "paired" in one and (found := _paired(one["paired"], tables)):
        return found.value, found.value - found.below, found.value + found.above, found.n, PAIRED
    first, second = (side(one[name], tables) for name in ("first", "second"))
    difference = first.value - second.value
    # of independent sides (Zou and Donner 2008); for sides on the same items the interval is too wide
    low, high = difference - np.hypot(first.below, second.above), difference + np.hypot(first.above, second.below)
    place = "printed" if "printed" in one["first"] else str(one["first"].get("table"))
    reasons = papers().get(one["source"], {}).get("unpaired", {})
    why = f"independent: {one.get('unpaired') or reasons.get(place, 'the table has no paired differences')}"
    of_one = any("value" in one[name] for name in ("first", "second"))
    n = min(n for n in (first.n, second.n) if n)
    return difference, float(low), float(high), n, "of one value" if of_one else why


def verdict_of(test: str, margin: float, difference: float, low: float, high: float) -> str:
    """Whether a difference with its interval shows what a conclusion says; without an interval nothing can be told."""
    if np.isnan([difference, low, high]).any():
        return UNTOLD
    holds, fails = {
        "more": (low > 0, high < 0),
        "pairs": (low > 0, high < 0),
        "as much": (low > -margin, high < -margin),
        "same": (-margin < low and high < margin, low > margin or high < -margin),
        "not significant": (low <= 0 <= high, low > 0 or high < 0),
    }[test]
    return HOLDS if holds else FAILS if fails else UNTOLD


_SAID = {HOLDS: "hold", FAILS: "fail", UNTOLD: "cannot be told"}
PRINTED = "arithmetic"
"""Basis of what follows from a paper's own printed figures."""


def shown(row: Mapping[str, Any]) -> str:
    """The difference with its interval as text; of pairs, how many of them: "20 of 24 pairs (0.64 to 0.93)"."""
    if pd.isna(row["difference"]):
        return "not in these tables"
    if row["test"] == "pairs":
        hits = round((row["difference"] + 0.5) * row["n"])
        return f"{hits} of {row['n']} pairs ({row['low'] + 0.5:.2f} to {row['high'] + 0.5:.2f})"
    interval = "no interval" if pd.isna(row["low"]) else f"{_signed(row['low'])} to {_signed(row['high'])}"
    return f"{_signed(row['difference'])} ({interval})"


def _signed(value: float) -> str:
    """Three decimals with a sign, and none for zero; one decimal from 10 up."""
    text = f"{value:+.1f}" if abs(value) >= 10 else f"{value:+.3f}"
    return text[1:] if float(text) == 0 else text


def tested(row: Mapping[str, Any]) -> str:
    """The test with its margin: "as much, margin 0.005"."""
    return f"{row['test']}, margin {row['margin']:g}" if row["margin"] else str(row["test"])


def counts_line(table: pd.DataFrame) -> str:
    """How many conclusions hold, by kind of basis, and how many only compare printed figures with each other."""
    kinds = basis_kind(table["basis"])
    said = []
    for kind in [kind for kind in CLASSES if kind in set(kinds) - {PRINTED}]:
        found = table.loc[kinds == kind, "verdict"].value_counts()
        said.append(f"{kind}, " + ", ".join(f"{found.get(one, 0)} {words}" for one, words in _SAID.items()))
    printed, left = (kinds == PRINTED).sum(), len(undecided(table))
    return (
        f"What the papers conclude, by the basis that decides it: {'; '.join(said)}. {printed} more conclusions "
        f"compare figures that a paper prints, and {left} are not decided."
    )
