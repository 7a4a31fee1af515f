"""Verdicts on the same cases, of two judges or of one before and after: agreement, and differences with exact tests.

P-values are those of exact sign flips, adjusted by Holm (`tasks.statistics.sign_flips`), and intervals of differences
hold together (Bonferroni). A failed verdict could have been yes or no: an interval spans both, and a p-value is the
larger of both, 1 where they point in different directions.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from tasks.statistics.agreement import kappa_interval
from tasks.statistics.intervals import LEVEL as CONFIDENCE
from tasks.statistics.intervals import Interval, difference_interval
from tasks.statistics.metric_rows import Row, metric_row
from tasks.statistics.sign_flips import family_level, flip_p, holm


@dataclass(frozen=True)
class Compared:
    """A mean difference of ``n`` pairs; the interval and ``p`` also cover ``unscored`` pairs, ``p_scored`` does not."""

    interval: Interval
    n: int
    unscored: int
    texts: int
    p: float
    p_scored: float


def compared(
    before: pd.Series, now: pd.Series, clusters: pd.Series, *, one_sided: bool = False, level: float = CONFIDENCE
) -> Compared:
    """The mean of ``now - before`` over pairs of 0 or 1 (n,), null where a verdict failed.

    ``one_sided``: only a rise of the mean is tested. ``level``: confidence of the interval.
    """
    first, second = (one.astype("Float64").to_numpy(dtype=float, na_value=np.nan) for one in (before, now))
    texts = clusters.to_numpy()
    least = np.nan_to_num(second, nan=0.0) - np.nan_to_num(first, nan=1.0)
    most = np.nan_to_num(second, nan=1.0) - np.nan_to_num(first, nan=0.0)
    difference = second - first
    scored = ~np.isnan(difference)
    value = float(difference[scored].mean()) if scored.any() else np.nan
    low, high = (difference_interval(one, clusters=texts, level=level) for one in (least, most))
    p_scored = flip_p(difference[scored], texts[scored], one_sided=one_sided)
    ends = [flip_p(one, texts, one_sided=one_sided) for one in (least, most)]
    disagree = not one_sided and least.sum() * most.sum() <= 0
    p = 1.0 if disagree else ends[0] if one_sided else max(ends)
    count = int(scored.sum())
    reached = len(np.unique(texts[scored])) if count else 0
    return Compared((value, low[1], high[2]), count, len(scored) - count, reached, p, p_scored)


def right(rows: pd.DataFrame, column: str = "judged") -> pd.Series:
    """Whether each verdict is right, null where it failed."""
    return rows[column].astype("boolean").eq(rows["truth"].astype("boolean")).astype("Float64")


@dataclass(frozen=True)
class Board:
    """Verdicts of several judges on the same cases: ``votes`` (cases, judges), nullable booleans.

    ``clusters``: the text of each case. ``truth``: the right answers, None where nobody knows them.
    """

    item: str
    votes: pd.DataFrame
    clusters: pd.Series
    truth: pd.Series | None = None


def agreement_rows(boards: Sequence[Board]) -> list[Row]:
    """Rows on every pair of judges: the difference of their answers with its p-values, and Cohen's kappa.

    System: the first judge; condition: "against" the other; item: the board's. Differences are first less other, of
    right answers, or of yes answers where the truth is not known; their intervals and p-values hold for all boards
    together. Cases that one of them failed on count as in `compared`. Kappa depends on how frequent yes is, so that
    there is none for cases with a known truth, whose mix was chosen.
    """
    pairs = [(board, str(a), str(b)) for board in boards for a, b in combinations(board.votes.columns, 2)]
    level = family_level(len(pairs))
    found = []
    for board, first, second in pairs:
        one, other = (_answers(board, name) for name in (first, second))
        found.append(compared(other, one, board.clusters, level=level))
    adjusted, scored = (holm([getattr(one, name) for one in found]) for name in ("p", "p_scored"))
    rows = []
    for (board, first, second), one, p, p_scored in zip(pairs, found, adjusted, scored, strict=True):
        keys: Row = {"system": first, "condition": f"against {second}", "item": board.item, "unscored": one.unscored}
        keys["provenance"] = f"judges: {first}, {second}"
        if board.truth is None:
            known = board.votes[[first, second]].dropna()
            one_says, other_says = (known[name].to_numpy(bool) for name in (first, second))
            kappa = kappa_interval(one_says, other_says, clusters=board.clusters.loc[known.index].to_numpy())
            rows.append(metric_row("kappa", *kappa, n=len(known), **keys))
        metric = "yes_difference" if board.truth is None else "accuracy_difference"
        rows += tested_rows(metric, one, p, p_scored, **keys)
    return rows


def tested_rows(metric: str, one: Compared, p: float, p_scored: float, **keys: Any) -> list[Row]:
    """Rows of a difference and of its p-values, adjusted for the other tests of its family."""
    return [
        metric_row(metric, *one.interval, n=one.n, **keys),
        metric_row("p_value_adjusted", float(p), n=one.n, **keys),
        metric_row("p_value_scored", float(p_scored), n=one.n, **keys),
    ]


def _answers(board: Board, judge: str) -> pd.Series:
    """Right answers of a judge as 0 and 1, or yes answers where the truth is not known."""
    given = board.votes[judge].astype("boolean")
    return (given if board.truth is None else given.eq(board.truth.astype("boolean"))).astype("Float64")
