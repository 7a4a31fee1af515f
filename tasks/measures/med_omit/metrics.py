"""MED-OMIT by summary model (Table 3): omissions per document (count) and their weighted sum (weight)."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from schemas.params.measures import Overlap
from tasks.measures.med_omit.fact_score import document_score
from tasks.measures.overlap.tables import correlated, omission_correlations, score_texts
from tasks.statistics.metric_rows import mean_row, metric_table, score_table, statistic_row
from tasks.texts.document import WHOLE

STAGE = "med_omit"
SYSTEM = "compact notes"
"""The summaries of the generated notes."""


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


def long_scores(scores: pd.DataFrame, *, condition: str) -> pd.DataFrame:
    """`document_scores` with rows of count, weight and share: columns of DOCUMENT_SCORES but for the record."""
    shares = scores.assign(share=scores["count"] / scores["facts"])
    long = shares.melt(["document", "system"], ["count", "weight", "share"], var_name="metric")
    return long.assign(metric="omission_" + long["metric"], condition=condition, item=WHOLE, stage=STAGE)


def record_scores(scores: pd.DataFrame, *, condition: str) -> pd.DataFrame:
    """Counts and weights of our notes as SCORES rows; their document ids are record ids."""
    long = long_scores(scores, condition=condition)
    return score_table(long[long["metric"] != "omission_share"].rename(columns={"document": "record"}))


def metric_rows(
    scores: pd.DataFrame, *, documents: Mapping[str, int], seed: int, provenance: str, condition: str
) -> pd.DataFrame:
    """Mean and standard deviation over documents of omission count, weight and share, by system.

    ``documents``: how many documents of each system should have a score.
    """
    rows = []
    shares = scores.assign(share=scores["count"] / scores["facts"])
    for system, size in sorted(documents.items()):
        group = shares[shares["system"] == system]
        for name in ("count", "weight", "share"):
            values, metric = group[name].to_numpy(dtype=float), f"omission_{name}"
            keys: dict[str, Any] = {"system": system, "unscored": size - len(group)}
            rows.append(mean_row(metric, values, seed=seed, **keys))
            deviation = partial(_deviation, values)
            rows.append(statistic_row(f"{metric}_std", deviation, len(values), seed=seed, **keys))
    return metric_table(rows, stage=STAGE, condition=condition, item=WHOLE, seed=seed, provenance=provenance)


def _deviation(values: np.ndarray, rows: np.ndarray) -> float:
    return float(np.std(values[rows]))


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


def difference_rows(
    differences: pd.DataFrame, *, documents: Mapping[str, int], seed: int, provenance: str, condition: str
) -> pd.DataFrame:
    """Mean over documents of ``lost``, ``added`` and ``shifted`` (columns of ``differences``), by system.

    ``documents`` is as in `metric_rows`. None where differentials were not compared.
    """
    rows = []
    for system, size in sorted(documents.items()) if len(differences) else ():
        group = differences[differences["system"] == system]
        for name in ("lost", "added", "shifted"):
            keys: dict[str, Any] = {"system": system, "unscored": size - len(group)}
            rows.append(mean_row(f"differential_{name}", group[name], seed=seed, **keys))
    return metric_table(rows, stage=STAGE, condition=condition, item=WHOLE, provenance=provenance)


def overlap_correlations(
    scores: pd.DataFrame,
    summaries: pd.DataFrame,
    references: Mapping[str, str],
    params: Overlap,
    *,
    seed: int,
    provenance: str,
    condition: str,
) -> pd.DataFrame:
    """METRICS of the correlation of omission scores with overlap of the summaries with references (Table 5)."""
    merged = scores.merge(summaries, on=["document", "system"]).reset_index(drop=True)
    overlap, _ = score_texts([references[name] for name in merged["document"]], merged["summary"].tolist(), params)
    joined = pd.concat([merged.drop(columns="summary"), overlap], axis=1)
    return omission_correlations(
        joined, correlated(joined), stage=STAGE, seed=seed, provenance=provenance, condition=condition
    )
