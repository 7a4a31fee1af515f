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


UNIT = ["document", "system", "condition", "item", "metric", "unit"]
"""What identifies a unit of VERDICTS, whoever judges it."""


def agreement(verdicts: pd.DataFrame, judges: Sequence[str], together: str | None = None) -> list[Row]:
    """Rows on every two ``judges`` in yes-or-no VERDICTS, by metric, or of all metrics ``together``, the item.

    The difference of their answers with its p-values, and Cohen's kappa. System: the first judge; condition: "against"
    the other. Differences are first less other, of right answers where the truth is known of all units, else of yes
    answers; their intervals and p-values hold for all items together. Units that one of them failed on count as in
    `compared`, documents are clusters. Kappa depends on how frequent yes is, so that there is none for cases with a
    known truth, whose mix was chosen.
    """
    named = verdicts["metric"] if together is None else pd.Series(together, index=verdicts.index)
    about: list[tuple[str, str, str, bool, pd.DataFrame, pd.Series]] = []
    for item, rows in verdicts.groupby(named, sort=True):
        votes = rows.pivot(index=UNIT, columns="judge", values="value").astype("boolean").reindex(columns=list(judges))
        truth = rows.drop_duplicates(UNIT).set_index(UNIT)["truth"].reindex(votes.index)
        documents, known = pd.Series(votes.index.get_level_values("document"), votes.index), bool(truth.notna().all())
        said = votes.eq(truth.astype("boolean"), axis=0) if known else votes
        pairs = combinations(judges, 2)
        about += [
            (str(item), one, other, known, said[[one, other]].astype("Float64"), documents) for one, other in pairs
        ]
    level = family_level(len(about))
    found = [compared(said[b], said[a], documents, level=level) for _, a, b, _, said, documents in about]
    adjusted, scored = (holm([getattr(one, name) for one in found]) for name in ("p", "p_scored"))
    made = list[Row]()
    for (item, a, b, known, said, documents), one, p, p_scored in zip(about, found, adjusted, scored, strict=True):
        keys: Row = {"system": a, "condition": f"against {b}", "item": item, "unscored": one.unscored}
        keys["provenance"] = f"judges: {a}, {b}"
        if not known:
            both = said.dropna()
            texts = documents.loc[both.index].to_numpy()
            kappa = kappa_interval(both[a].to_numpy(bool), both[b].to_numpy(bool), clusters=texts)
            made.append(metric_row("kappa", *kappa, n=len(both), **keys))
        made += tested_rows("accuracy_difference" if known else "yes_difference", one, p, p_scored, **keys)
    return made


def tested_rows(metric: str, one: Compared, p: float, p_scored: float, **keys: Any) -> list[Row]:
    """Rows of a difference and of its p-values, adjusted for the other tests of its family."""
    return [
        metric_row(metric, *one.interval, n=one.n, **keys),
        metric_row("p_value_adjusted", float(p), n=one.n, **keys),
        metric_row("p_value_scored", float(p_scored), n=one.n, **keys),
    ]
