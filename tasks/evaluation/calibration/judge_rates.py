"""The judge's precision, recall and specificity on planted cases, by step and by what was planted."""

import numpy as np
import pandas as pd

from tasks.statistics.bootstrap import interval
from tasks.statistics.metric_rows import Row, mean_row, metric_row, metric_table

STAGE = "calibrate"
Rates = dict[str, float]


def rates(truth: np.ndarray, judged: np.ndarray) -> Rates:
    """Precision, recall (sensitivity) and specificity of ``judged`` against ``truth``; nan where not defined."""
    yes, no = truth.astype(bool), ~truth.astype(bool)
    said = judged.astype(bool)
    return {
        "precision": _ratio((yes & said).sum(), said.sum()),
        "recall": _ratio((yes & said).sum(), yes.sum()),
        "specificity": _ratio((no & ~said).sum(), no.sum()),
    }


def _ratio(part: int, whole: int) -> float:
    return float(part / whole) if whole else float("nan")


def rate_rows(planted: pd.DataFrame, *, system: str, seed: int, provenance: str) -> pd.DataFrame:
    """METRICS: rates of each step (item "all"), and the share judged rightly of each kind of planted case."""
    rows: list[Row] = []
    for step, cases in planted.groupby("step", sort=True):
        scored = cases[cases["judged"].notna()]
        truth, judged = scored["truth"].to_numpy(dtype=bool), scored["judged"].to_numpy(dtype=bool)
        keys = {"condition": step, "item": "all", "n": len(scored), "unscored": len(cases) - len(scored)}
        for metric, value in rates(truth, judged).items():
            rows.append(metric_row(metric, value, *_interval(truth, judged, metric, seed), **keys))
        for kind, group in cases.groupby("kind", sort=True):
            scored = group[group["judged"].notna()]
            right = (scored["judged"].astype(bool) == scored["truth"]).to_numpy(dtype=float)
            unscored = len(group) - len(scored)
            rows.append(mean_row("judged_rightly", right, seed=seed, condition=step, item=kind, unscored=unscored))
    return metric_table(rows, stage=STAGE, system=system, seed=seed, provenance=provenance)


def _interval(truth: np.ndarray, judged: np.ndarray, metric: str, seed: int) -> tuple[float, float]:
    return interval(lambda at: rates(truth[at], judged[at])[metric], len(truth), seed=seed)
