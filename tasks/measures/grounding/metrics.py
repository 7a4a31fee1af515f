"""Scores of groundedness: the share of an output's claims that its source supports, and that it contradicts."""

import pandas as pd

from tasks.measures.doclens import metrics as doclens

STAGE = "grounding"
SHARES = {"claims_supported": "supported", "claims_contradicted": "contradicted"}
"""Verdict counted by each metric. The rest of the claims are absent from the source."""


def judged_shares(grounded: pd.DataFrame) -> pd.DataFrame:
    """GROUNDED as judgements: for each metric, whether a claim has its verdict, null where it has none."""
    parts = []
    for metric, verdict in SHARES.items():
        judged = grounded["verdict"].eq(verdict).astype("boolean").mask(grounded["verdict"].isna())
        parts.append(grounded.assign(metric=metric, judged=judged, condition="source"))
    return pd.concat(parts, ignore_index=True).drop(columns=["verdict", "reason"])


def document_scores(grounded: pd.DataFrame) -> pd.DataFrame:
    """The shares of each output, as `tasks.measures.doclens.metrics.document_scores`."""
    return doclens.document_scores(judged_shares(grounded))


def metric_rows(grounded: pd.DataFrame, *, seed: int, provenance: str) -> pd.DataFrame:
    """METRICS of the shares by system and section: mean over documents, and pooled over claims."""
    return doclens.metric_rows(judged_shares(grounded), seed=seed, provenance=provenance, stage=STAGE)


def unscored_documents(grounded: pd.DataFrame) -> pd.Series:
    """Number of documents without any verdict by system, condition, item and metric."""
    return doclens.unscored_documents(judged_shares(grounded))
