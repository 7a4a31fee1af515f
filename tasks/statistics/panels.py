"""Several judges of the same cases: majority, agreement, differences, and how many independent ones they are worth.

The sign of a difference is arbitrary where nothing differs but chance. Over the 2^k signs of the sums of k texts the
distribution of the total is exact; with one case a text this is McNemar's exact test (1947). P-values are adjusted for
their number (Holm 1979), and intervals of differences hold together (Bonferroni). A failed verdict could have been yes
or no: an interval spans both, and a p-value is the larger of both, 1 where they point in different directions.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from tasks.statistics.agreement import kappa_interval
from tasks.statistics.intervals import LEVEL as CONFIDENCE
from tasks.statistics.intervals import Floats, Interval, difference_interval, statistic_interval
from tasks.statistics.metric_rows import Row, bounds_rows, mean_row, metric_row

LEVEL = 0.05
PANEL = "majority of the judges"
TOGETHER = "against each other"
"""Condition of rows on all judges of a board."""
MEAN, WITHOUT = "mean of all judges", "mean without {}"
"""Conditions of ranks that several judges give together."""
SAME_FAMILY = "systems of a judge's family"


def flip_p(differences: npt.ArrayLike, clusters: npt.ArrayLike, *, one_sided: bool = False) -> float:
    """P of a sum of whole differences (n,) whose sign is arbitrary in each cluster; 1 without a difference.

    ``one_sided``: only sums above 0 speak against that. Raises ValueError for differences that are not whole numbers.
    """
    _, of = np.unique(np.asarray(clusters), return_inverse=True)
    sums = np.bincount(of, weights=np.asarray(differences, dtype=float))
    whole = np.rint(sums).astype(int)
    if not np.allclose(sums, whole):
        raise ValueError("differences are not whole numbers; expected those of verdicts")
    steps = np.abs(whole[whole != 0])
    if not steps.size:
        return 1.0
    most = int(steps.sum())
    probability = np.zeros(2 * most + 1)
    probability[most] = 1.0
    for step in steps:
        probability = (np.roll(probability, step) + np.roll(probability, -step)) / 2
    found, totals = int(whole.sum()), np.arange(-most, most + 1)
    beyond = totals >= found if one_sided else np.abs(totals) >= abs(found)
    return float(min(probability[beyond].sum(), 1.0))


def holm(p: Sequence[float]) -> Floats:
    """P-values adjusted for their number by Holm's step-down (1979)."""
    values = np.asarray(p, dtype=float)
    order = np.argsort(values, kind="stable")
    steps = np.maximum.accumulate(np.minimum(values[order] * np.arange(len(values), 0, -1), 1.0))
    adjusted = np.empty_like(steps)
    adjusted[order] = steps
    return adjusted


def family_level(size: int) -> float:
    """Confidence of each of ``size`` intervals that hold together in 95 of 100 studies (Bonferroni)."""
    return CONFIDENCE if size <= 1 else 1 - (1 - CONFIDENCE) / size


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


def majority(votes: pd.DataFrame) -> pd.Series:
    """The answer of more than half of all judges on each case (cases,), null where neither answer has so many.

    ``votes`` (cases, judges): nullable booleans. A failed verdict is no vote for either answer: a tie has no majority,
    and neither has a case on which the failed verdicts could have decided.
    """
    yes, no = (votes.eq(answer).fillna(False).astype(int).sum(axis=1) for answer in (True, False))
    found = pd.Series(pd.NA, index=votes.index, dtype="boolean", name=PANEL)
    found[yes > votes.shape[1] / 2] = True
    found[no > votes.shape[1] / 2] = False
    return found


@dataclass(frozen=True)
class Board:
    """Verdicts of several judges on the same cases: ``votes`` (cases, judges), nullable booleans.

    ``clusters``: the text of each case. ``truth``: the right answers, None where nobody knows them.
    """

    item: str
    votes: pd.DataFrame
    clusters: pd.Series
    truth: pd.Series | None = None

    @property
    def judges(self) -> list[str]:
        """Names of the judges."""
        return [str(name) for name in self.votes.columns]


def agreement_rows(boards: Sequence[Board]) -> list[Row]:
    """Rows on every pair of judges, on all of them, and on the majority of three or more against its best member.

    System: the first judge; condition: "against" the other; item: the board's. Differences are first less other, of
    right answers, or of yes answers where the truth is not known; their intervals and p-values hold for all boards
    together. Cases that one of them failed on count as in `compared`. The majority is compared where truth is known.
    """
    pairs = [(board, *pair) for board in boards for pair in _pairs(board)]
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
        known = _with_panel(board)[[first, second]].dropna()
        one_says, other_says = known[first].to_numpy(bool), known[second].to_numpy(bool)
        texts = board.clusters.loc[known.index].to_numpy()
        kappa = kappa_interval(one_says, other_says, clusters=texts)
        metric = "yes_difference" if board.truth is None else "accuracy_difference"
        rows.append(metric_row("kappa", *kappa, n=len(known), **keys))
        rows += tested_rows(metric, one, p, p_scored, **keys)
    return rows + [row for board in boards if len(board.judges) > 1 for row in _together(board)]


def tested_rows(metric: str, one: Compared, p: float, p_scored: float, **keys: Any) -> list[Row]:
    """Rows of a difference and of its p-values, adjusted for the other tests of its family."""
    return [
        metric_row(metric, *one.interval, n=one.n, **keys),
        metric_row("p_value_adjusted", float(p), n=one.n, **keys),
        metric_row("p_value_scored", float(p_scored), n=one.n, **keys),
    ]


def _pairs(board: Board) -> list[tuple[str, str]]:
    pairs = list(combinations(board.judges, 2))
    if board.truth is None or len(board.judges) < 3:
        return pairs
    shares = {name: float(_answers(board, name).fillna(0).mean()) for name in board.judges}
    return [*pairs, (PANEL, max(board.judges, key=lambda name: shares[name]))]


def _with_panel(board: Board) -> pd.DataFrame:
    return board.votes.assign(**{PANEL: majority(board.votes)})


def _answers(board: Board, judge: str) -> pd.Series:
    """Right answers of a judge or of the majority as 0 and 1, or yes answers where the truth is not known."""
    given = _with_panel(board)[judge].astype("boolean")
    return (given if board.truth is None else given.eq(board.truth.astype("boolean"))).astype("Float64")


def _together(board: Board) -> list[Row]:
    """Share of the cases on which the judges split, and the number of independent judges that they are worth."""
    known = board.votes.dropna().astype(bool)
    keys: Row = {"system": PANEL, "condition": TOGETHER, "item": board.item, "unscored": len(board.votes) - len(known)}
    keys["provenance"] = f"judges: {', '.join(board.judges)}"
    clusters = board.clusters.loc[known.index].to_numpy()
    split = mean_row("split", known.nunique(axis=1).gt(1).to_numpy(dtype=float), clusters=clusters, **keys)
    rows = [split, *bounds_rows(split)]
    if board.truth is not None:
        errors = known.ne(board.truth.loc[known.index], axis=0).to_numpy(dtype=float)
        most = float(len(board.judges))
        worth = statistic_interval(
            lambda at: independent_judges(errors[at]), len(errors), bounds=(1.0, most), clusters=clusters
        )
        rows.append(metric_row("independent_judges", *worth, n=len(errors), **keys))
    return rows


def independent_judges(errors: npt.ArrayLike) -> float:
    """Independent judges whose mean error would vary as that of these: ``errors`` (cases, judges), 0 or 1.

    The mean variance of the judges over the variance of their mean, Kish's design effect (1965, Section 5.4) for
    correlated members: m / (1 + (m - 1) rho) for m judges of equal variance and correlation rho. At most m, 1 if all
    err on the same cases; nan if nobody errs, or everybody always.
    """
    array = np.asarray(errors, dtype=float)
    if len(array) < 2:
        return np.nan
    spread, together = float(array.var(axis=0).mean()), float(array.mean(axis=1).var())
    if spread == 0:
        return np.nan
    most = float(array.shape[1])
    return min(spread / together, most) if together > 0 else most


def rank_rows(scores: pd.DataFrame, lower_is_better: Collection[str] = ()) -> list[Row]:
    """Ranks of systems by each judge, by the mean of all judges, and by that mean without one of them.

    ``scores``: columns judge, document, system, item and value, without failures. Means are over the documents that
    every judge scored for every system, so that no rank rests on another's failure; ``unscored`` counts the others.
    Rank 1 is the best, that of ``lower_is_better`` items the lowest; equals have the same. None for a single system.
    """
    rows: list[Row] = []
    for item, group in scores.groupby("item", sort=True):
        wide = group.pivot(index="document", columns=["judge", "system"], values="value")
        judges, systems = (sorted(group[name].unique()) for name in ("judge", "system"))
        if len(systems) < 2 or len(judges) < 2:
            continue
        wide = wide.reindex(columns=pd.MultiIndex.from_product([judges, systems]))
        complete = wide.dropna()
        means = complete.mean().unstack()  # (judges, systems)
        by = {judge: means.loc[judge] for judge in judges} | {MEAN: means.mean()}
        if len(judges) > 2:
            by |= {WITHOUT.format(judge): means.drop(index=judge).mean() for judge in judges}
        for condition, values in by.items():
            order = values.round(12).rank(method="min", ascending=item in lower_is_better)
            keys: Row = {"item": item, "condition": condition, "unscored": len(wide) - len(complete)}
            keys["provenance"] = f"judges: {', '.join(judges)}"
            for system in systems:
                rows.append(metric_row("rank", float(order[system]), n=len(complete), system=system, **keys))
                rows.append(metric_row("ranked_by", float(values[system]), n=len(complete), system=system, **keys))
    return rows


def family_rows(scores: pd.DataFrame, families: Mapping[str, str]) -> list[Row]:
    """What systems gain, by item, from judges of their own family: row ``same_family_gain`` with an interval.

    ``scores`` as in `rank_rows`; ``families``: family by name of a judge or system, a name without one is a family of
    its own. The gain of a document is the coefficient of "same family" in a linear model of its scores with an effect
    of each judge (who may be lenient) and of each system (which may be good); with two families of one judge and one
    system, half the difference of the differences. Documents count if every judge scored every system. Intervals hold
    for all items together. None where the effects of judges and systems alone explain "same family".
    """
    found = []
    for item, group in scores.groupby("item", sort=True):
        judges, systems = (sorted(group[name].unique()) for name in ("judge", "system"))
        same = np.array(
            [[families.get(j, f"judge {j}") == families.get(s, f"system {s}") for s in systems] for j in judges]
        )
        apart = _centred(same.astype(float))
        weight = float((apart**2).sum())
        if weight < 1e-9:
            continue
        wide = group.pivot(index="document", columns=["judge", "system"], values="value")
        wide = wide.reindex(columns=pd.MultiIndex.from_product([judges, systems]))
        complete = wide.dropna()
        gains = complete.to_numpy(dtype=float) @ (apart.ravel() / weight)
        reach = float(np.abs(apart).sum() / 2 / weight)  # scores from 0 to 1; the weights sum to 0
        found.append((str(item), gains, reach, len(wide) - len(complete), judges))
    level = family_level(len(found))
    rows = []
    for item, gains, reach, lost, judges in found:
        keys: Row = {"system": SAME_FAMILY, "condition": "against others", "item": item, "unscored": lost}
        keys["provenance"] = f"judges: {', '.join(judges)}"
        gain = difference_interval(gains, reach=reach, level=level)
        rows.append(metric_row("same_family_gain", *gain, n=len(gains), **keys))
    return rows


def _centred(values: Floats) -> Floats:
    """A matrix less its means of rows and of columns."""
    centred: Floats = values - values.mean(axis=0) - values.mean(axis=1, keepdims=True) + values.mean()
    return centred
