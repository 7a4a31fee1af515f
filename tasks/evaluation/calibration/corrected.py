"""Scores beside what they stand for once the judge's known error rates are taken into account."""

import pandas as pd

from tasks.evaluation.calibration.judge_rates import STAGE
from tasks.evaluation.calibration.prevalence import corrected_interval
from tasks.statistics.metric_rows import mean_row, metric_row, metric_table

STEP_OF = {
    "claim_recall": "entailment",
    "claim_precision": "entailment",
    "citation_recall": "citation recall",
    "citation_precision": "citation precision",
    "omission_share": "omissions",
    "omission_count": "omissions",
    "omission_weight": "omissions",
}
"""The judge's step that each score sums up."""


def corrected_rows(scores: pd.DataFrame, planted: pd.DataFrame, *, seed: int, provenance: str) -> pd.DataFrame:
    """METRICS: for each score its raw mean and the corrected one, with intervals.

    ``scores`` has the columns system, condition, item, metric and value, one a text, and ``ceiling``: what it would be
    were every answer yes.
    """
    rows = []
    for (system, condition, item, metric), group in scores.groupby(
        ["system", "condition", "item", "metric"], sort=True
    ):
        cases = planted[(planted["step"] == STEP_OF.get(str(metric))) & planted["judged"].notna()]
        values = group["value"].tolist()
        truth, judged = cases["truth"].to_numpy(dtype=bool), cases["judged"].to_numpy(dtype=bool)
        yes, no, most = judged[truth].tolist(), judged[~truth].tolist(), group["ceiling"].tolist()
        corrected = corrected_interval(values, yes, no, ceilings=most, seed=seed)
        keys = {"system": system, "condition": condition, "item": item}
        rows.append(mean_row(metric, values, seed=seed, **keys))
        interval = (corrected.value, corrected.low, corrected.high)
        rows.append(metric_row(f"{metric}_corrected", *interval, n=len(values), **keys))
    return metric_table(rows, stage=STAGE, seed=seed, provenance=provenance)
