"""Correlation of omission scores with overlap (MED-OMIT, Tables 2 and 5), and the published outputs it is about."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from schemas.params.measures import Overlap
from tasks.measures.measure import scores
from tasks.measures.med_omit.judging import NAME, OMISSIONS
from tasks.measures.overlap.scoring import correlated, score_correlations, score_texts

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
