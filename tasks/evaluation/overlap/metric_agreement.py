"""How far metrics agree: over notes and systems (DocLens, Section 4.4), and MED-OMIT with overlap (its Table 5)."""

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pandas as pd
from scipy import stats

from tasks.evaluation.doclens.metrics import metrics_table
from tasks.statistics.agreement import correlation, correlation_interval


def agreement_rows(
    scores: pd.DataFrame, *, stage: str, condition: str, seed: int, provenance: str, groups: Sequence[Sequence[str]]
) -> pd.DataFrame:
    """Kendall's tau-b between every two metrics of each group (recall-based, precision-based), over notes and systems.

    ``scores`` has a row a note and system: ``document``, ``system`` and a column a metric. Over notes, all rows count;
    over systems, each system's mean.
    """
    rows = []
    for names in groups:
        for one, other in combinations([name for name in names if name in scores], 2):
            pair = scores[["system", one, other]].dropna()
            units = {"notes": pair, "systems": pair.groupby("system", as_index=False).mean()}
            for over, table in units.items():
                rows.append(_row(table[one], table[other], "kendall", f"{one} and {other}", over, seed))
    return _table(rows, stage, condition, seed, provenance)


def _row(first: pd.Series, second: pd.Series, kind: str, item: str, over: str, seed: int) -> dict[str, object]:
    one, other = first.to_numpy(dtype=float), second.to_numpy(dtype=float)
    value = correlation(one, other, kind) if len(one) > 1 else np.nan  # type: ignore[arg-type]
    low, high = correlation_interval(one, other, kind, seed=seed)  # type: ignore[arg-type]
    return {"system": over, "item": item, "metric": kind, "value": value, "low": low, "high": high, "n": len(one)}


def _table(rows: list[dict[str, object]], stage: str, condition: str, seed: int, provenance: str) -> pd.DataFrame:
    end = {"stage": stage, "condition": condition, "unscored": 0, "seed": str(seed), "provenance": provenance}
    return metrics_table([{**row, **end} for row in rows])


def omission_correlations(
    scores: pd.DataFrame, overlap: Sequence[str], *, stage: str, condition: str, seed: int, provenance: str
) -> pd.DataFrame:
    """Spearman and Pearson of MED-OMIT's weight and count with overlap metrics, with two-sided p values (Table 5).

    ``scores`` has a row a document and system: ``weight``, ``count`` and a column an overlap metric.
    """
    rows = []
    for system, group in scores.groupby("system", sort=True):
        for omission in ("weight", "count"):
            for name in (name for name in overlap if name in scores):
                pair = group[[omission, name]].dropna()
                rows.extend(_correlated(pair[omission], pair[name], f"{omission} and {name}", str(system)))
    end = {"stage": stage, "condition": condition, "unscored": 0, "seed": str(seed), "provenance": provenance}
    return metrics_table([{**row, **end} for row in rows])


def _correlated(first: pd.Series, second: pd.Series, item: str, system: str) -> list[dict[str, object]]:
    one, other = first.to_numpy(dtype=float), second.to_numpy(dtype=float)
    defined = len(one) > 2 and np.unique(one).size > 1 and np.unique(other).size > 1
    rows: list[dict[str, object]] = []
    for kind, measure in (("spearman", stats.spearmanr), ("pearson", stats.pearsonr)):
        value, p = (float(number) for number in measure(one, other)) if defined else (np.nan, np.nan)
        start = {"system": system, "item": item, "low": np.nan, "high": np.nan, "n": len(one)}
        rows.append({**start, "metric": kind, "value": value})
        rows.append({**start, "metric": f"{kind}_p", "value": p})
    return rows
