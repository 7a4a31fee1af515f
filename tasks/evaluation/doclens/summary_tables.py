"""Metric rows of judged summaries by task: DocLens, overlap metrics, and the agreement between metrics."""

import pandas as pd

from schemas.params.overlap import Overlap
from tasks.evaluation.doclens.metrics import document_scores, metric_rows
from tasks.evaluation.overlap.metric_agreement import agreement_rows
from tasks.evaluation.overlap.tables import PRECISION, RECALL, beside_claims, score_systems, system_rows


def task_rows(
    task: str,
    documents: pd.DataFrame,
    judged: pd.DataFrame,
    texts: pd.DataFrame,
    params: Overlap,
    *,
    seed: int,
    provenance: str,
) -> pd.DataFrame:
    """METRICS of one task under the stage name ``doclens_<task>``.

    ``documents`` has the columns document and reference, ``judged`` is JUDGED with the task as item, ``texts`` has the
    columns document, task, system and text.
    """
    stage = f"doclens_{task}"
    mine = judged[judged["item"] == task].assign(item="all")
    references = dict(zip(documents["document"], documents["reference"], strict=True))
    return system_tables(
        mine, texts[texts["task"] == task], references, params, stage=stage, seed=seed, made_by=provenance
    )


def system_tables(
    judged: pd.DataFrame,
    texts: pd.DataFrame,
    references: dict[str, str],
    params: Overlap,
    *,
    stage: str,
    seed: int,
    made_by: str,
) -> pd.DataFrame:
    """METRICS of several systems' texts: judged scores, overlap with the references, and Kendall's tau between metrics.

    The agreement is DocLens's Exp-III (Section 4.4): between recall-based metrics and between precision-based metrics,
    over texts and over systems.
    """
    scored, absent = score_systems(texts.sort_values(["document", "system"]), references, params)
    together = beside_claims(scored, document_scores(judged))
    agreement = agreement_rows(
        together,
        stage=stage,
        condition="agreement of metrics",
        seed=seed,
        provenance=made_by,
        groups=[RECALL, PRECISION],
    )
    judged_rows = metric_rows(judged, seed=seed, provenance=made_by, stage=stage)
    return pd.concat([judged_rows, system_rows(scored, absent, stage=stage, seed=seed), agreement], ignore_index=True)
