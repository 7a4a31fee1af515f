"""Correlation of benchmark scores with an outside ranking of the same systems (EHRNoteQA, Section 4.3, Table 5)."""

from collections.abc import Sequence

import pandas as pd

from tasks.statistics.agreement import Correlation, correlation, correlation_interval

KINDS: tuple[Correlation, ...] = ("spearman", "kendall")


def ranking_correlations(scores: pd.DataFrame, outside: Sequence[str]) -> pd.DataFrame:
    """Spearman's and Kendall's correlation of each score column with each ``outside`` column; rows are systems.

    Returns columns outside, measure, benchmark, value, n.
    """
    rows = [
        (ranker, kind, name, correlation(scores[name], scores[ranker], kind), len(scores))
        for ranker in outside
        for kind in KINDS
        for name in scores.columns
        if name not in outside
    ]
    return pd.DataFrame(rows, columns=["outside", "measure", "benchmark", "value", "n"])


def with_intervals(found: pd.DataFrame, scores: pd.DataFrame, *, seed: int) -> pd.DataFrame:
    """Add 95% bootstrap intervals over systems (low, high) to `ranking_correlations`; the paper gives none."""
    pairs = [
        correlation_interval(scores[row.benchmark], scores[row.outside], row.measure, seed=seed)
        for row in found.itertuples()
    ]
    return found.assign(low=[low for low, _ in pairs], high=[high for _, high in pairs])
