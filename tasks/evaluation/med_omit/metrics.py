"""MED-OMIT by summary model (Table 3): omissions per document (count) and their weighted sum (weight)."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from tasks.evaluation.med_omit.fact_score import document_score
from tasks.statistics.bootstrap import interval
from tasks.statistics.metric_rows import mean_row, metric_row, metric_table, score_table

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


def unscored_documents(ceilings: pd.DataFrame, omitted: pd.DataFrame) -> pd.Series:
    """Number of documents of OMITTED without a row in `omission_ceilings`, by system, condition, item and metric."""
    documents = omitted.groupby("system")["document"].nunique()
    scored = ceilings.groupby(["system", "condition", "item", "metric"])["document"].nunique()
    return scored.index.get_level_values("system").map(documents).to_numpy() - scored


def record_scores(scores: pd.DataFrame, *, condition: str) -> pd.DataFrame:
    """`document_scores` of our notes as SCORES rows; their document ids are record ids."""
    long = scores.melt(id_vars=["document", "system"], value_vars=["count", "weight"], var_name="metric")
    long = long.assign(record=long["document"], condition=condition, item="all")
    long["metric"] = "omission_" + long["metric"]
    return score_table(long)


def metric_rows(
    scores: pd.DataFrame, *, documents: int | Mapping[str, int], seed: int, provenance: str, condition: str
) -> pd.DataFrame:
    """Mean and standard deviation over documents of omission count, weight and share, by system.

    ``documents``: how many should have a score, for all systems or by system.
    """
    rows = []
    for system, group in scores.assign(share=scores["count"] / scores["facts"]).groupby("system", sort=True):
        unscored = _number(documents, system) - len(group)
        for name in ("count", "weight", "share"):
            values, metric = group[name].to_numpy(dtype=float), f"omission_{name}"
            rows.append(mean_row(metric, values, seed=seed, system=system, unscored=unscored))
            deviation = (float(np.std(values)), *_deviation_interval(values, seed))
            rows.append(metric_row(f"{metric}_std", *deviation, n=len(values), system=system, unscored=unscored))
    return metric_table(rows, stage=STAGE, condition=condition, item="all", seed=seed, provenance=provenance)


def extent_rows(omitted: pd.DataFrame, *, seed: int, provenance: str, condition: str) -> pd.DataFrame:
    """Share of the omissions that leave out only a part of the fact, by system; omissions without extent are unscored.

    The paper counts partial omissions in full and leaves their degree to future work (Section 3).
    """
    rows = []
    for system, group in omitted[omitted["omitted"].fillna(False).astype(bool)].groupby("system", sort=True):
        known = group["extent"].dropna()
        values = (known == "part").to_numpy(dtype=float)
        rows.append(mean_row("omitted_in_part", values, seed=seed, system=system, unscored=len(group) - len(known)))
    return metric_table(rows, stage=STAGE, condition=condition, item="all", seed=seed, provenance=provenance)


def _deviation_interval(values: np.ndarray, seed: int) -> tuple[float, float]:
    return interval(lambda at: float(np.std(values[at])), len(values), seed=seed)


def _number(documents: int | Mapping[str, int], system: object) -> int:
    return documents if isinstance(documents, int) else documents[str(system)]


def difference_rows(
    differences: pd.DataFrame, *, documents: int | Mapping[str, int], seed: int, provenance: str, condition: str
) -> pd.DataFrame:
    """Mean over documents of ``lost``, ``added`` and ``shifted`` (columns of ``differences``), by system.

    ``documents`` is as in `metric_rows`.
    """
    rows = [
        mean_row(
            f"differential_{name}",
            group[name],
            seed=seed,
            system=system,
            unscored=_number(documents, system) - len(group),
        )
        for system, group in differences.groupby("system", sort=True)
        for name in ("lost", "added", "shifted")
    ]
    return metric_table(rows, stage=STAGE, condition=condition, item="all", provenance=provenance)
