"""Correlations of benchmarks with clinicians' ranking of systems (EHRNoteQA, Section 4.3 and Table 5)."""

import pandas as pd

from tasks.statistics.agreement import Correlation, correlation_interval
from tasks.statistics.metric_rows import metric_row, metric_table

_CLINICIANS = ("clinician_a", "clinician_b", "clinician_c")
_KINDS: tuple[Correlation, ...] = ("spearman", "kendall")


def correlation_metrics(table7: pd.DataFrame, *, seed: int) -> pd.DataFrame:
    """METRICS of the correlation of each benchmark in Table 7 with each clinician, over models.

    The intervals are ours: the paper gives none.
    """
    scores = table7.set_index("model")
    rows = [
        metric_row(
            kind,
            *correlation_interval(scores[name], scores[clinician], kind),
            n=len(scores),
            system=name,
            condition=clinician,
        )
        for clinician in _CLINICIANS
        for kind in _KINDS
        for name in scores.columns
        if name not in _CLINICIANS
    ]
    return metric_table(rows, stage="ehrnoteqa_published", item="19 models", seed=seed, provenance="EHRNoteQA, Table 7")
