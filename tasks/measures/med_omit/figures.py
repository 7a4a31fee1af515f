"""What is computed of omissions beyond means: their correlation with overlap, degrees, and ranks under other weights.

Correlation with overlap is that of MED-OMIT's Tables 2 and 5.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from schemas.params.measures import Overlap
from tasks.measures.measure import Metric, Metrics, scores
from tasks.measures.med_omit.fact_score import CATEGORIES, IMPORTANCE
from tasks.measures.med_omit.judging import GRADED, NAME, OMISSIONS, OMITTED, UNIQUE
from tasks.measures.overlap.scoring import correlated, score_correlations, score_texts
from tasks.statistics.agreement import correlation
from tasks.statistics.intervals import COUNT
from tasks.statistics.metric_rows import Row, metric_row

CORRELATED = {"weight": "omission_weight", "count": "omission_count"}
"""Scores that are correlated with overlap, by their names in its rows."""


def overlap_correlations(
    verdicts: pd.DataFrame, summaries: pd.DataFrame, references: Mapping[str, str], params: Overlap, **about: Any
) -> pd.DataFrame:
    """METRICS of the correlation of omission scores with overlap of the summaries with references (Table 5)."""
    known = scores(verdicts[verdicts["document"].isin(references)], OMISSIONS)
    wide = known.pivot(index=["document", "system"], columns="metric", values="value").reset_index()
    merged = wide.merge(summaries, on=["document", "system"])
    overlap, _ = score_texts([references[name] for name in merged["document"]], merged["summary"].tolist(), params)
    joined = pd.concat([merged.drop(columns="summary"), overlap], axis=1)
    return score_correlations(joined, CORRELATED, correlated(joined), stage=NAME, **about)


SYSTEMS = {
    "gpt-4": "GPT-4 (zero-shot, ACI-BENCH)",
    "gpt-3.5-turbo": "ChatGPT (zero-shot, ACI-BENCH)",
}
"""The outputs of ``doclens.systems`` by each printed name of the model."""

WEIGHT_GRADED = "omission_weight_graded"
METRICS: Metrics = {
    WEIGHT_GRADED: Metric(
        bounds=COUNT,
        removal="rises",
        meaning="omission weight, where a fact that is omitted in part counts by med_omit.part_weight",
    )
}


def graded_weights(verdicts: pd.DataFrame, part_weight: float) -> pd.DataFrame:
    """The weight of each summary, in which a fact that is omitted in part counts ``part_weight`` of its score.

    The paper counts every omission in full and leaves degrees to future work (Section 3). It is nan where a fact
    without a judgement or an omitted fact without a score may add to it.
    """
    facts = verdicts[verdicts["metric"] == OMITTED]
    degree = facts["verdict"].eq("part").map({True: part_weight, False: 1.0})
    values = (facts["weight"] * degree).mask(facts["value"].eq(0), 0.0).mask(facts["value"].isna())
    sums = values.groupby([facts["document"], facts["system"]]).sum(skipna=False)
    return sums.reset_index(name="value").assign(metric=WEIGHT_GRADED)


def rank_rows(verdicts: pd.DataFrame, weights: Sequence[Sequence[float]]) -> list[Row]:
    """Kendall's tau of the systems by mean omission weight between the paper's weights of categories and others."""
    papers = _mean_weights(verdicts, IMPORTANCE)
    rows = []
    for given in weights:
        other = _mean_weights(verdicts, dict(zip(reversed(CATEGORIES), given, strict=True)))
        tau = correlation(papers, other.reindex(papers.index), "kendall")
        about: Row = {"condition": "other weights of facts", "item": ", ".join(f"{w:g}" for w in given)}
        rows.append(metric_row("kendall_of_systems", tau, n=len(papers), **about))
    return rows


def _mean_weights(verdicts: pd.DataFrame, importance: Mapping[Any, float]) -> pd.Series:
    of = {name: verdicts[verdicts["metric"] == name].set_index(["document", "unit"]) for name in (GRADED, UNIQUE)}
    grades = of[GRADED]["verdict"].map(importance).astype(float)
    weights = np.fmax(grades, of[UNIQUE]["value"].reindex(grades.index)).where(grades.notna())
    facts = verdicts[verdicts["metric"] == OMITTED]
    weighed = facts.assign(weight=weights.reindex(pd.MultiIndex.from_frame(facts[["document", "unit"]])).to_numpy())
    found = scores(weighed, {"omission_weight": OMISSIONS["omission_weight"]})
    return found.groupby("system")["value"].mean()
