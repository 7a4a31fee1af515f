"""DocLens scores from judgements: one per text (SCORES), and aggregates with intervals (METRICS)."""

import pandas as pd

from tasks.evaluation.doclens.aggregates import Score, aggregate
from tasks.evaluation.doclens.citation_score import citation_precision, citation_recall
from tasks.evaluation.doclens.claim_score import Judgement, claim_precision, claim_recall
from tasks.statistics.metric_rows import metric_row, metric_table, score_table

STAGE = "doclens"
FORMULAS: dict[str, Score] = {
    "claim_recall": claim_recall,
    "claim_precision": claim_precision,
    "citation_recall": citation_recall,
    "citation_precision": citation_precision,
}
"""Score of one text from its judgements, by metric."""


def judgements_by_document(group: pd.DataFrame) -> list[list[Judgement]]:
    """Judgements in ``group`` (JUDGED) by document, in the order of documents."""
    return [_plain(rows["judged"]) for _, rows in group.groupby("document", sort=True)]


def _plain(values: pd.Series) -> list[Judgement]:
    return [None if pd.isna(value) else bool(value) for value in values]


def document_scores(judged: pd.DataFrame) -> pd.DataFrame:
    """One score per document, system, condition, item and metric; texts without a judgement are left out.

    For texts judged by section, item "all" combines the claims of all sections.
    """
    rows = []
    keys = ["document", "system", "condition", "item", "metric"]
    for key, group in with_all(judged).groupby(keys, sort=True):
        value = FORMULAS[key[-1]](_plain(group["judged"]))
        if value is not None:
            rows.append((*key, value))
    return pd.DataFrame(rows, columns=[*keys, "value"]).astype(dict.fromkeys(keys, "str") | {"value": float})


def unscored_judgements(judged: pd.DataFrame) -> pd.Series:
    """Number of null judgements, indexed by system, condition, item and metric."""
    rows = with_all(judged)
    return (
        rows.assign(missing=rows["judged"].isna()).groupby(["system", "condition", "item", "metric"])["missing"].sum()
    )


def record_scores(judged: pd.DataFrame) -> pd.DataFrame:
    """`document_scores` of the generated notes as SCORES; the document is a record."""
    return score_table(document_scores(judged).rename(columns={"document": "record"}))


def with_all(judged: pd.DataFrame) -> pd.DataFrame:
    """``judged``, with the rows of texts judged by section repeated under item "all"."""
    texts = [judged[name] for name in ("document", "system", "condition", "metric")]
    whole = judged["item"].eq("all").groupby(texts).transform("any")
    return pd.concat([judged, judged[~whole.astype(bool)].assign(item="all")], ignore_index=True)


def metric_rows(judged: pd.DataFrame, *, seed: int, provenance: str, stage: str = STAGE) -> pd.DataFrame:
    """Every score by system, condition and item: the mean over texts, and pooled over judgements (``..._pooled``)."""
    rows = []
    for (system, condition, item, metric), group in with_all(judged).groupby(
        ["system", "condition", "item", "metric"], sort=True
    ):
        found = aggregate(judgements_by_document(group), FORMULAS[metric], seed=seed)
        keys = {"system": system, "condition": condition, "item": item, "unscored": found.unscored}
        rows.append(metric_row(metric, found.mean, found.mean_low, found.mean_high, n=found.texts, **keys))
        pooled = (found.pooled, found.pooled_low, found.pooled_high)
        rows.append(metric_row(f"{metric}_pooled", *pooled, n=found.judgements, **keys))
    return metric_table(rows, stage=stage, seed=seed, provenance=provenance)
