"""Agreement between metrics over notes and systems (DocLens, Section 4.4), and with MED-OMIT (its Table 5)."""

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pandas as pd
from scipy import stats

from tasks.statistics.agreement import correlation, correlation_interval
from tasks.statistics.metric_rows import Row, metric_row, metric_table


def agreement_rows(
    scores: pd.DataFrame, *, stage: str, condition: str, seed: int, provenance: str, groups: Sequence[Sequence[str]]
) -> pd.DataFrame:
    """Kendall's tau-b between every two metrics of each group (recall-based, precision-based), over notes and systems.

    ``scores`` has one row per note and system: ``document``, ``system`` and a column per metric. The unit is a row for
    notes, and a system's mean for systems.
    """
    rows = []
    for names in groups:
        for one, other in combinations([name for name in names if name in scores], 2):
            pair = scores[["system", one, other]].dropna()
            units = {"notes": pair, "systems": pair.groupby("system", as_index=False).mean()}
            for over, table in units.items():
                rows.append(_row(table[one], table[other], "kendall", f"{one} and {other}", over, seed))
    return metric_table(rows, stage=stage, condition=condition, seed=seed, provenance=provenance)


def _row(first: pd.Series, second: pd.Series, kind: str, item: str, over: str, seed: int) -> Row:
    one, other = first.to_numpy(dtype=float), second.to_numpy(dtype=float)
    value = correlation(one, other, kind) if len(one) > 1 else np.nan  # type: ignore[arg-type]
    low, high = correlation_interval(one, other, kind, seed=seed)  # type: ignore[arg-type]
    return metric_row(kind, value, low, high, n=len(one), system=over, item=item)


def omission_correlations(
    scores: pd.DataFrame, overlap: Sequence[str], *, stage: str, condition: str, seed: int, provenance: str
) -> pd.DataFrame:
    """Spearman and Pearson of MED-OMIT's weight and count with overlap metrics, with two-sided p values (Table 5).

    ``scores`` has one row per document and system: ``weight``, ``count`` and a column per overlap metric.
    """
    rows = []
    for system, group in scores.groupby("system", sort=True):
        for omission in ("weight", "count"):
            for name in (name for name in overlap if name in scores):
                pair = group[[omission, name]].dropna()
                rows.extend(_correlated(pair[omission], pair[name], f"{omission} and {name}", str(system)))
    return metric_table(rows, stage=stage, condition=condition, seed=seed, provenance=provenance)


def _correlated(first: pd.Series, second: pd.Series, item: str, system: str) -> list[Row]:
    one, other = first.to_numpy(dtype=float), second.to_numpy(dtype=float)
    defined = len(one) > 2 and np.unique(one).size > 1 and np.unique(other).size > 1
    rows = []
    for kind, measure in (("spearman", stats.spearmanr), ("pearson", stats.pearsonr)):
        value, p = (float(number) for number in measure(one, other)) if defined else (np.nan, np.nan)
        rows.append(metric_row(kind, value, n=len(one), system=system, item=item))
        rows.append(metric_row(f"{kind}_p", p, n=len(one), system=system, item=item))
    return rows
