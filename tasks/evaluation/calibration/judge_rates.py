"""The judge's precision, recall and specificity on planted cases, by step and by what was planted."""

import numpy as np
import pandas as pd

from tasks.evaluation.doclens.metrics import metrics_table
from tasks.statistics.bootstrap import interval

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
    rows: list[dict[str, object]] = []
    for step, cases in planted.groupby("step", sort=True):
        scored = cases[cases["judged"].notna()]
        truth, judged = scored["truth"].to_numpy(dtype=bool), scored["judged"].to_numpy(dtype=bool)
        end = {"n": len(scored), "unscored": len(cases) - len(scored), "seed": str(seed), "provenance": provenance}
        start = {"stage": STAGE, "system": system, "condition": str(step)}
        for metric, value in rates(truth, judged).items():
            low, high = _interval(truth, judged, metric, seed)
            rows.append({**start, "item": "all", "metric": metric, "value": value, "low": low, "high": high, **end})
        for kind, group in cases.groupby("kind", sort=True):
            rows.append(_kind_row(group, {**start, "item": str(kind)}, seed, provenance))
    return metrics_table(rows)


def _interval(truth: np.ndarray, judged: np.ndarray, metric: str, seed: int) -> tuple[float, float]:
    return interval(lambda at: rates(truth[at], judged[at])[metric], len(truth), seed=seed)


def _kind_row(group: pd.DataFrame, start: dict[str, object], seed: int, provenance: str) -> dict[str, object]:
    scored = group[group["judged"].notna()]
    right = (scored["judged"].astype(bool) == scored["truth"]).to_numpy(dtype=float)
    low, high = interval(lambda at: float(right[at].mean()), len(right), seed=seed)
    return {
        **start,
        "metric": "judged_rightly",
        "value": float(right.mean()) if right.size else float("nan"),
        "low": low,
        "high": high,
        "n": len(scored),
        "unscored": len(group) - len(scored),
        "seed": str(seed),
        "provenance": provenance,
    }
