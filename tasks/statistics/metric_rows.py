"""Rows of metric tables (schema METRICS). Shares are stored as 0 to 1; only the report shows them as percent."""

from collections.abc import Callable, Iterable, Mapping
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import stats

from schemas.tables.columns import typed
from schemas.tables.metrics import METRICS, SCORES
from tasks.statistics.intervals import (
    LEVEL,
    SHARE,
    Bounds,
    Interval,
    cluster_sums,
    difference_interval,
    effective_size,
    joined,
    mean_interval,
    ratio_interval,
    shares_correlation,
    statistic_interval,
)
from tasks.statistics.prediction_powered import DRAWS, correlated_draws, drawn_limit

Row = dict[str, Any]
NAN = float("nan")
COMPUTED = "computed, no model"
"""Provenance of figures that need no model."""
_ENDS, _TINY = [(1 - LEVEL) / 2, (1 + LEVEL) / 2], 1e-12
_DEFAULTS: Row = {"low": NAN, "high": NAN, "unscored": 0, "seed": None}


def metric_row(metric: str, value: float, low: float = NAN, high: float = NAN, *, n: int, **columns: Any) -> Row:
    """One row: a value with its 95% interval and the number ``n`` of units that it is computed from.

    ``columns`` are further columns of METRICS; columns shared by all rows are passed to `metric_table` instead.
    """
    return {"metric": metric, "value": value, "low": low, "high": high, "n": n, **columns}


def mean_row(
    metric: str,
    values: npt.ArrayLike,
    *,
    bounds: Bounds | None = SHARE,
    clusters: npt.ArrayLike | None = None,
    **columns: Any,
) -> Row:
    """Row of the mean of ``values`` (n,) with its interval (`tasks.statistics.intervals.mean_interval`).

    Raises ValueError naming the metric for values outside ``bounds``.
    """
    array = np.asarray(values, dtype=float)
    try:
        found = mean_interval(array, bounds=bounds, clusters=clusters)
    except ValueError as error:
        raise ValueError(f"metric {metric}: {error}") from error
    return metric_row(metric, *found, n=array.size, **columns)


def bounds_rows(
    row: Row, least: npt.ArrayLike | None = None, most: npt.ArrayLike | None = None, *, bounds: Bounds = SHARE
) -> list[Row]:
    """Row ``<metric>_bounds``: the range of the mean of ``row`` over all that its unscored units may be; none without.

    ``least`` and ``most`` (units,) are the possible values of all units; by default, the unscored units have the
    ``bounds`` and are as many as ``unscored`` says. The row is the worst case, not a confidence interval (Manski 2003).
    """
    if not row["unscored"]:
        return []
    n, lost = row["n"], int(row["unscored"])
    if least is None or most is None:
        known = n * row["value"] if n else 0.0
        ends, units = [(known + lost * end) / (n + lost) for end in bounds], n + lost
    else:
        ends, units = [float(np.asarray(one, dtype=float).mean()) for one in (least, most)], np.size(least)
    return [{**row, "metric": f"{row['metric']}_bounds", "low": ends[0], "high": ends[1], "n": units}]


def ratio_row(metric: str, parts: npt.ArrayLike, wholes: npt.ArrayLike, *, n: int | None = None, **columns: Any) -> Row:
    """Row of a ratio of sums over units (`tasks.statistics.intervals.ratio_interval`); ``n``: by default the wholes."""
    whole = np.asarray(wholes, dtype=float)
    return metric_row(metric, *ratio_interval(parts, whole), n=int(whole.sum()) if n is None else n, **columns)


def system_difference_rows(scores: pd.DataFrame, *, reach: float = 1.0) -> list[Row]:
    """Rows ``<metric>_difference`` of each pair of systems on the documents that both have a score of.

    ``scores``: columns document, system, metric and value. ``reach`` as in `difference_interval`. Documents that only
    one system has a score of count as unscored.
    """
    rows = []
    for metric, part in scores.groupby("metric", sort=True):
        wide = part.pivot(index="document", columns="system", values="value")
        for one, other in combinations(wide.columns, 2):
            apart = (wide[one] - wide[other]).dropna()
            found, lost = (
                difference_interval(apart, reach=reach),
                int(wide[[one, other]].isna().sum(axis=1).eq(1).sum()),
            )
            about: Row = {"system": f"{one} against {other}", "unscored": lost}
            rows.append(metric_row(f"{metric}_difference", *found, n=len(apart), **about))
    return rows


def statistic_row(
    metric: str,
    statistic: Callable[[npt.NDArray[np.int64]], float],
    rows: int,
    *,
    bounds: Bounds | None = SHARE,
    clusters: npt.ArrayLike | None = None,
    **columns: Any,
) -> Row:
    """Row of a ``statistic`` of row numbers with its interval (`tasks.statistics.intervals.statistic_interval`)."""
    found = statistic_interval(statistic, rows, bounds=bounds, clusters=clusters)
    return metric_row(metric, *found, n=rows, **columns)


FEWEST_OF_DEVIATION = 8
"""Fewest values with an interval of their standard deviation."""


def deviation_row(metric: str, values: npt.ArrayLike, **columns: Any) -> Row:
    """Row of the standard deviation of ``values``; its interval is the jackknife's on the log scale (Miller 1968).

    It reaches at least as far as that of normal values, whose logarithm has the variance 1 / 2 (n - 1). None for fewer
    than `FEWEST_OF_DEVIATION`: counts that are all but alike have too short ones.
    """
    array = np.asarray(values, dtype=float)

    def logarithm(rows: npt.NDArray[np.int64]) -> float:
        spread = float(np.std(array[rows], ddof=1)) if len(rows) > 1 else 0.0
        return float(np.log(spread)) if spread > 0 else NAN

    low, high = NAN, NAN
    if len(array) >= FEWEST_OF_DEVIATION:
        _, low, high = statistic_interval(logarithm, len(array), bounds=None)
        centre, normal = (low + high) / 2, float(stats.t.isf(0.025, len(array) - 1)) / np.sqrt(2 * (len(array) - 1))
        low, high = min(low, centre - normal), max(high, centre + normal)
    value = float(np.std(array)) if len(array) else NAN
    return metric_row(metric, value, float(np.exp(low)), float(np.exp(high)), n=len(array), **columns)


def detection_rows(
    truth: npt.ArrayLike, judged: npt.ArrayLike, clusters: npt.ArrayLike, *, seed: int, **columns: Any
) -> list[Row]:
    """Rows of sensitivity, specificity and precision at half of yes-or-no verdicts on cases with known truth.

    Then, where judgements failed, the bounds of these (`bounds_rows`).

    ``truth`` (n,), ``judged`` (n,), null where the judgement failed, and ``clusters`` (n,). The prevalence of one half
    stands for no real one: the mix of planted cases means nothing.
    """
    cases = pd.DataFrame({"truth": np.asarray(truth, dtype=bool), "cluster": np.asarray(clusters)})
    cases["judged"] = pd.array(judged, dtype="boolean")
    scored = cases.dropna(subset="judged")
    lost = (~cases["truth"]).where(cases["judged"].isna()).dropna()
    rows, drawn, random = [], [], np.random.default_rng(seed)
    for metric, group in (("sensitivity", scored[scored["truth"]]), ("specificity", scored[~scored["truth"]])):
        right, missing = group["judged"] == group["truth"], int((lost == (metric == "specificity")).sum())
        columns |= {"seed": seed, "unscored": missing}
        rows.append(mean_row(metric, right, clusters=group["cluster"], **columns))
        if len(group):
            size = effective_size(*cluster_sums(right, group["cluster"]))
            drawn.append(drawn_limit(float(right.mean()), size, random, DRAWS))
    value, low, high = precision_at_half(rows[0]["value"], rows[1]["value"]), NAN, NAN
    if len(drawn) == 2:
        right = scored["judged"] == scored["truth"]
        correlation = shares_correlation(right, scored["truth"], scored["cluster"])
        hits, specificities = correlated_draws(drawn[0], drawn[1], correlation, random)
        alarms = 1 - specificities
        low, high = np.quantile(hits / np.maximum(hits + alarms, _TINY), _ENDS)
        low, high = float(np.fmin(low, value)), float(np.fmax(high, value))
    columns |= {"unscored": len(lost)}
    rows.append(metric_row("precision_at_half", value, low, high, n=len(scored), **columns))
    ranges = [(row["value"], row["value"]) for row in rows[:2]]
    for place, row in enumerate(rows[:2]):
        for bound in bounds_rows(row):
            rows.append(bound)
            ranges[place] = bound["low"], bound["high"]
    if len(lost):
        ends = [precision_at_half(one, other) for one, other in zip(*ranges, strict=True)]
        rows.append(metric_row("precision_at_half_bounds", value, *ends, n=len(cases), **columns))
    return rows


def balanced_accuracy(truth: npt.ArrayLike, judged: npt.ArrayLike, clusters: npt.ArrayLike) -> Interval:
    """Mean of sensitivity and specificity of verdicts ``judged`` (n,) with its interval; nan for cases of one truth.

    The intervals of both are joined at their correlation over the ``clusters`` (n,) that they share.
    """
    true, of = np.asarray(truth, dtype=bool), np.asarray(clusters)
    right = np.asarray(judged, dtype=bool) == true
    sensitivity, (value, low, high) = (mean_interval(right[kind], clusters=of[kind]) for kind in (true, ~true))
    ends = joined(sensitivity, (-value, -high, -low), -shares_correlation(right, true, of))
    return (sensitivity[0] + value) / 2, ends[0] / 2, ends[1] / 2


def precision_at_half(sensitivity: float, specificity: float) -> float:
    """Share of the cases judged yes whose answer is yes, if half of all are yes; nan if none is judged yes."""
    hits, alarms = sensitivity, 1 - specificity
    return hits / (hits + alarms) if hits + alarms > 0 else NAN


def metric_table(rows: Iterable[Mapping[str, Any]], **shared: Any) -> pd.DataFrame:
    """``rows`` as a METRICS table, in their order.

    ``shared`` fills columns that a row lacks; entries of the row take precedence. The defaults are no interval, nothing
    unscored and no seed. Raises ValueError for a row with missing or unknown columns.
    """
    complete = [{**_DEFAULTS, **shared, **row} for row in rows]
    for row in complete:
        if row.keys() != METRICS.columns.keys():
            missing, unknown = METRICS.columns.keys() - row.keys(), row.keys() - METRICS.columns.keys()
            raise ValueError(f"metric row {row}: missing columns {sorted(missing)}, unknown columns {sorted(unknown)}")
        row["seed"] = None if row["seed"] is None else str(row["seed"])
    return typed(complete, METRICS)


def score_table(scores: pd.DataFrame) -> pd.DataFrame:
    """Scores of single records as a SCORES table, sorted by its key; further columns are dropped."""
    return typed(scores, SCORES).sort_values(list(SCORES.unique or []), ignore_index=True)
