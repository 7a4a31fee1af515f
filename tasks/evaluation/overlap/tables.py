"""Tables of overlap metrics of compact notes and systems' texts, joined with the judged scores of the same texts."""

from collections.abc import Mapping, Sequence

import pandas as pd

from schemas.params.overlap import Overlap
from tasks.evaluation.overlap.scores import ABSENT, bert_score, overlap_scores
from tasks.statistics.metric_rows import COMPUTED, NAN, mean_row, metric_row, metric_table, score_table

SYSTEM, CONDITION = "compact notes", "against notes"
RECALL = ("rouge1_r", "rouge2_r", "rougeLsum_r", "bertscore_r", "claim_recall")
PRECISION = ("rouge1_p", "rouge2_p", "rougeLsum_p", "bleu", "bertscore_p", "claim_precision")
Absent = dict[str, str]


def score_texts(references: Sequence[str], outputs: Sequence[str], params: Overlap) -> tuple[pd.DataFrame, Absent]:
    """Every overlap metric of each output (one row per output, in order), and the absent metrics with reasons."""
    wide, absent = overlap_scores(references, outputs), dict(ABSENT)
    if params.bert_score_model is None:
        absent["bertscore"] = "needs overlap.bert_score_model, a model's name or folder"
        return wide, absent
    found, reason = bert_score(references, outputs, model=params.bert_score_model, layer=params.bert_score_layer)
    if found is None:
        return wide, {**absent, "bertscore": reason or "not available"}
    return pd.concat([wide, found], axis=1), absent


def score_compact_notes(
    notes: pd.DataFrame, compact: pd.DataFrame, records: set[str], params: Overlap
) -> tuple[pd.DataFrame, Absent]:
    """SCORES of the compact notes of ``records`` against their notes, and the absent metrics with reasons."""
    merged = notes.merge(compact[["record", "compact"]], on="record").sort_values("record")
    merged = merged[merged["record"].astype(str).isin(records)].reset_index(drop=True)
    wide, absent = score_texts(merged["note"].tolist(), merged["compact"].tolist(), params)
    wide.insert(0, "record", merged["record"])
    long = wide.melt(id_vars="record", var_name="metric").assign(system=SYSTEM, condition=CONDITION, item="all")
    return score_table(long), absent


def beside_judged(scored: pd.DataFrame, judged: pd.DataFrame, omissions: pd.DataFrame) -> pd.DataFrame:
    """One row per compact note: document, system, overlap metrics, judged scores, omission count and weight."""
    wide = scored.assign(document=scored["record"].astype(str)).pivot(
        index="document", columns="metric", values="value"
    )
    mine = judged[(judged["system"] == SYSTEM) & (judged["item"] == "all")]
    claims = mine.pivot(index="document", columns="metric", values="value")
    counted = omissions[omissions["system"] == SYSTEM].set_index("document")[["count", "weight"]]
    return wide.join(claims).join(counted).reset_index().assign(system=SYSTEM)


def overlap_rows(scored: pd.DataFrame, absent: Absent, *, seed: int) -> pd.DataFrame:
    """METRICS: the mean of each overlap metric with its interval; an absent metric has a reason instead of a value."""
    return _mean_rows(scored, absent, SYSTEM, stage="overlap", condition=CONDITION, seed=seed)


def score_systems(texts: pd.DataFrame, references: Mapping[str, str], params: Overlap) -> tuple[pd.DataFrame, Absent]:
    """Overlap of each text in ``texts`` (document, system, text) with its reference: one row per text."""
    keys = texts[["document", "system"]].reset_index(drop=True)
    found, absent = score_texts([references[name] for name in keys["document"]], texts["text"].tolist(), params)
    return pd.concat([keys, found], axis=1), absent


def correlated(overlap: pd.DataFrame) -> list[str]:
    """The overlap metrics of a table that are correlated with omissions: F values, BLEU and BERTScore."""
    return [name for name in overlap if name.endswith("_f") or name == "bleu" or name.startswith("bertscore")]


def system_rows(scored: pd.DataFrame, absent: Absent, *, stage: str, seed: int) -> pd.DataFrame:
    """METRICS: the mean of each overlap metric by system (``scored`` of `score_systems`), and absent metrics."""
    long = scored.melt(id_vars=["document", "system"], var_name="metric")
    return _mean_rows(long, absent, "all systems", stage=stage, condition="overlap", seed=seed)


def beside_claims(scored: pd.DataFrame, judged: pd.DataFrame) -> pd.DataFrame:
    """``scored`` of `score_systems` with a column for each judged score of the same text as a whole.

    ``judged`` has the columns document, system, item, metric and value.
    """
    whole = judged[judged["item"] == "all"]
    claims = whole.pivot_table(index=["document", "system"], columns="metric", values="value").reset_index()
    return scored.merge(claims, on=["document", "system"], how="left")


def _mean_rows(
    scored: pd.DataFrame, absent: Absent, missing_of: str, *, stage: str, condition: str, seed: int
) -> pd.DataFrame:
    rows = [
        mean_row(metric, group["value"].dropna(), seed=seed, system=system)
        for (system, metric), group in scored.groupby(["system", "metric"], sort=True)
    ]
    for metric, reason in sorted(absent.items()):
        rows.append(metric_row(metric, NAN, n=0, system=missing_of, provenance=f"absent: {reason}"))
    return metric_table(rows, stage=stage, condition=condition, item="all", provenance=COMPUTED)
