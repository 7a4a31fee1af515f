"""DocLens scores of texts and of systems (Xie et al. 2024, Sections 3.1 to 3.3), from judgements of entailment.

Every score is a share of judgements. A judgement is True, False or None: None is a failed one, which is excluded from
the score and counted.
"""

from collections.abc import Sequence

import pandas as pd

from tasks.statistics.intervals import SHARE
from tasks.statistics.metric_rows import bounds_rows, mean_row, metric_table, ratio_row, score_table
from tasks.texts.document import WHOLE

STAGE = "doclens"
CLAIM_METRICS = ("claim_recall", "claim_precision")
"""Share of the reference's claims that the output entails, (1/|L_y|) sum of I[y' => l] (Section 3.1), and share of the
output's claims that the reference entails (Section 3.2). A text without claims has no score; an empty output recalls
none."""
GRADED = "_graded"
"""Ending of the claim metrics in which a claim that is found in part counts half (evaluator style ``graded``)."""
CITATION_METRICS = ("citation_recall", "citation_precision")
"""Share of the output's statements that their citations together entail, and share of its citations that are necessary
(Section 3.3). A statement without citations is not supported; an output without citations has no precision."""
Judgement = bool | None
_KEYS = ["system", "condition", "item", "metric"]


def share(judgements: Sequence[Judgement]) -> float | None:
    """Share of True among the judgements that are not None; None if there are none."""
    scored = [judgement for judgement in judgements if judgement is not None]
    return sum(scored) / len(scored) if scored else None


def document_scores(judged: pd.DataFrame) -> pd.DataFrame:
    """One score per document, system, condition, item and metric of JUDGED; texts without a judgement are left out.

    For texts judged by section, item "all" combines the claims of all sections.
    """
    known = _values(judged).dropna(subset=["value"])
    return known.groupby(["document", *_KEYS], sort=True)["value"].mean().reset_index()


def unscored_documents(judged: pd.DataFrame) -> pd.Series:
    """Number of documents of which every judgement is null, indexed by system, condition, item and metric."""
    rows = _values(judged)
    lost = rows["value"].isna().groupby([rows[name] for name in ("document", *_KEYS)]).all()
    return lost.groupby(_KEYS).sum()


def record_scores(judged: pd.DataFrame) -> pd.DataFrame:
    """`document_scores` of the generated notes as SCORES; the document is a record."""
    return score_table(document_scores(judged).rename(columns={"document": "record"}))


def _values(judged: pd.DataFrame) -> pd.DataFrame:
    """``judged`` with the score of each judgement; rows of texts judged by section are repeated under item "all".

    Claims that were judged in degrees are repeated under ``..._graded``, with the degree as their score.
    """
    rows = with_all(judged).assign(value=lambda found: found["judged"].astype("Float64").astype(float))
    if "degree" not in rows or not rows["degree"].notna().any():
        return rows
    graded = rows[rows["metric"].isin(CLAIM_METRICS)]
    return pd.concat([rows, graded.assign(metric=graded["metric"] + GRADED, value=graded["degree"])], ignore_index=True)


def with_all(judged: pd.DataFrame) -> pd.DataFrame:
    """``judged``, with the rows of texts judged by section repeated under item "all"."""
    texts = [judged[name] for name in ("document", "system", "condition", "metric")]
    whole = judged["item"].eq(WHOLE).groupby(texts).transform("any")
    return pd.concat([judged, judged[~whole.astype(bool)].assign(item=WHOLE)], ignore_index=True)


def metric_rows(judged: pd.DataFrame, *, seed: int, provenance: str, stage: str = STAGE) -> pd.DataFrame:
    """METRICS of every score by system, condition and item, with 95% intervals over texts.

    The mean over texts (the paper), and pooled over judgements (``..._pooled``, the released script). Texts without a
    score are left out and counted as unscored, as pooled are judgements; texts without the section are left out, as in
    the paper. Where judgements failed, ``..._bounds`` has the range over all that they may be, texts without a score
    included; unscored are all texts with a failed judgement.
    """
    rows = []
    for key, group in _values(judged).groupby(_KEYS, sort=True):
        named = dict(zip(_KEYS, key, strict=True))
        metric, failed = named.pop("metric"), group["value"].isna()
        by_text = failed.groupby(group["document"])
        texts = group.dropna(subset=["value"]).groupby("document", sort=True)["value"]
        entailed, sizes = texts.sum().to_numpy(), texts.size().to_numpy()
        mean = mean_row(metric, entailed / sizes, unscored=int(by_text.all().sum()), **named)
        pooled = ratio_row(f"{metric}_pooled", entailed, sizes, unscored=int(failed.sum()), **named)
        least, most = (group["value"].fillna(end).groupby(group["document"]).mean() for end in SHARE)
        uncertain = {**mean, "unscored": int(by_text.any().sum())}
        rows += [mean, pooled, *bounds_rows(uncertain, least, most), *bounds_rows(pooled)]
    return metric_table(rows, stage=stage, seed=seed, provenance=provenance)
