"""MED-OMIT by summary model (Table 3): omissions per document (count) and their weighted sum (weight)."""

import numpy as np
import pandas as pd

from tasks.evaluation.doclens.metrics import metrics_table
from tasks.evaluation.med_omit.fact_score import document_score
from tasks.statistics.bootstrap import interval, mean_interval

STAGE = "med_omit"


def document_scores(facts: pd.DataFrame, omitted: pd.DataFrame) -> pd.DataFrame:
    """Number of omitted facts and sum of their scores: document, system, facts, count, weight.

    Documents with an unjudged omission, or with an omitted fact without a grade, are left out.
    """
    merged = omitted.merge(facts[["document", "fact", "score"]], on=["document", "fact"])
    rows = []
    for (document, system), group in merged.groupby(["document", "system"], sort=True):
        if group["omitted"].isna().any():
            continue
        left_out = group.loc[group["omitted"].astype(bool), "score"]
        if left_out.notna().all():
            rows.append((document, system, len(group), len(left_out), document_score(left_out)))
    return pd.DataFrame(rows, columns=["document", "system", "facts", "count", "weight"])


def omission_ceilings(facts: pd.DataFrame, omitted: pd.DataFrame) -> pd.DataFrame:
    """Share, count and weight of each document's omissions, each with its value if every fact were omitted (ceiling).

    Columns document, system, condition, item, metric, value, ceiling. Documents with an ungraded fact have no weight.
    """
    scores = document_scores(facts, omitted)
    whole = facts.groupby("document")["score"].agg(lambda values: values.sum(skipna=False))
    ceilings = {
        "omission_share": (scores["count"] / scores["facts"], 1.0),
        "omission_count": (scores["count"].astype(float), scores["facts"].astype(float)),
        "omission_weight": (scores["weight"], scores["document"].map(whole)),
    }
    parts = [
        scores[["document", "system"]].assign(condition="judge", item="all", metric=metric, value=value, ceiling=most)
        for metric, (value, most) in ceilings.items()
    ]
    return pd.concat(parts, ignore_index=True).dropna(subset=["ceiling"]).reset_index(drop=True)


def record_scores(scores: pd.DataFrame, *, condition: str) -> pd.DataFrame:
    """`document_scores` of our notes as SCORES rows; their document ids are record ids."""
    long = scores.melt(id_vars=["document", "system"], value_vars=["count", "weight"], var_name="metric")
    long = long.assign(record=long["document"].astype("int64"), condition=condition, item="all")
    long["metric"] = "omission_" + long["metric"]
    keys = ["record", "system", "condition", "item", "metric"]
    types = dict.fromkeys(keys[1:], "str") | {"value": float}
    return long[[*keys, "value"]].astype(types).sort_values(keys, ignore_index=True)


def metric_rows(scores: pd.DataFrame, *, documents: int, seed: int, provenance: str, condition: str) -> pd.DataFrame:
    """Mean and standard deviation over documents of omission count, weight and share, by system."""
    rows = []
    for system, group in scores.assign(share=scores["count"] / scores["facts"]).groupby("system", sort=True):
        start = {"stage": STAGE, "system": system, "condition": condition, "item": "all"}
        end = {
            "n": len(group),
            "unscored": documents - len(group),
            "seed": str(seed),
            "provenance": provenance,
        }
        for metric in ("count", "weight", "share"):
            values = group[metric].to_numpy(dtype=float)
            mean, low, high = mean_interval(values, seed=seed)
            rows.append({**start, "metric": f"omission_{metric}", "value": mean, "low": low, "high": high, **end})
            low, high = _deviation_interval(values, seed)
            deviation = {"value": float(np.std(values)), "low": low, "high": high}
            rows.append({**start, "metric": f"omission_{metric}_std", **deviation, **end})
    return metrics_table(rows)


def _deviation_interval(values: np.ndarray, seed: int) -> tuple[float, float]:
    return interval(lambda at: float(np.std(values[at])), len(values), seed=seed)


def difference_rows(
    differences: pd.DataFrame, *, documents: int, seed: int, provenance: str, condition: str
) -> pd.DataFrame:
    """Mean over documents of ``lost``, ``added`` and ``shifted`` (columns of ``differences``), by system."""
    rows = []
    for system, group in differences.groupby("system", sort=True):
        for metric in ("lost", "added", "shifted"):
            mean, low, high = mean_interval(group[metric].to_numpy(dtype=float), seed=seed)
            rows.append(
                {
                    "stage": STAGE,
                    "system": system,
                    "condition": condition,
                    "item": "all",
                    "metric": f"differential_{metric}",
                    "value": mean,
                    "low": low,
                    "high": high,
                    "n": len(group),
                    "unscored": documents - len(group),
                    "seed": str(seed),
                    "provenance": provenance,
                }
            )
    return metrics_table(rows)
