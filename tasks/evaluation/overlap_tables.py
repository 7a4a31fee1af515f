"""Overlap metrics of our compact notes as tables, beside the judged scores of the same notes."""

import pandas as pd

from schemas.params.overlap import Overlap
from tasks.evaluation.doclens.metrics import metrics_table
from tasks.evaluation.overlap import ABSENT, bert_score, overlap_scores
from tasks.statistics.bootstrap import mean_interval

SYSTEM, CONDITION = "compact notes", "against notes"
RECALL = ("rouge1_r", "rouge2_r", "rougeLsum_r", "claim_recall")
PRECISION = ("rouge1_p", "rouge2_p", "rougeLsum_p", "bleu", "claim_precision")


def score_compact_notes(
    notes: pd.DataFrame, compact: pd.DataFrame, records: set[str], params: Overlap
) -> tuple[pd.DataFrame, dict[str, str]]:
    """SCORES of the compact notes of ``records`` against their notes, and metrics that are absent with the reason."""
    merged = notes.merge(compact[["record", "compact"]], on="record").sort_values("record")
    merged = merged[merged["record"].astype(str).isin(records)].reset_index(drop=True)
    references, outputs = merged["note"].tolist(), merged["compact"].tolist()
    wide, absent = overlap_scores(references, outputs), dict(ABSENT)
    if params.bert_score_model is None:
        absent["bertscore"] = "needs overlap.bert_score_model, a model's name or folder"
    else:
        found, reason = bert_score(references, outputs, model=params.bert_score_model, layer=params.bert_score_layer)
        if found is None:
            absent["bertscore"] = reason or "not available"
        else:
            wide = pd.concat([wide, found], axis=1)
    wide.insert(0, "record", merged["record"])
    long = wide.melt(id_vars="record", var_name="metric").assign(system=SYSTEM, condition=CONDITION, item="all")
    keys = ["record", "system", "condition", "item", "metric"]
    types = dict.fromkeys(keys[1:], "str") | {"value": float}
    return long[[*keys, "value"]].astype(types).sort_values(keys, ignore_index=True), absent


def beside_judged(scored: pd.DataFrame, judged: pd.DataFrame, omissions: pd.DataFrame) -> pd.DataFrame:
    """One row a compact note: overlap metrics, judged scores, omission count and weight; columns document, system."""
    wide = scored.assign(document=scored["record"].astype(str)).pivot(
        index="document", columns="metric", values="value"
    )
    mine = judged[(judged["system"] == SYSTEM) & (judged["item"] == "all")]
    claims = mine.pivot(index="document", columns="metric", values="value")
    counted = omissions[omissions["system"] == SYSTEM].set_index("document")[["count", "weight"]]
    return wide.join(claims).join(counted).reset_index().assign(system=SYSTEM)


def overlap_rows(scored: pd.DataFrame, absent: dict[str, str], *, seed: int) -> pd.DataFrame:
    """METRICS: the mean of each overlap metric with its interval; a metric that is absent has no value, and why not."""
    start = {"stage": "overlap", "system": SYSTEM, "condition": CONDITION, "item": "all"}
    rows: list[dict[str, object]] = []
    for metric, group in scored.groupby("metric", sort=True):
        mean, low, high = mean_interval(group["value"], seed=seed)
        end = {"n": len(group), "unscored": 0, "seed": str(seed), "provenance": "computed, no model"}
        rows.append({**start, "metric": str(metric), "value": mean, "low": low, "high": high, **end})
    for metric, reason in sorted(absent.items()):
        nothing = dict.fromkeys(["value", "low", "high"], float("nan"))
        rows.append(
            {
                **start,
                "metric": metric,
                **nothing,
                "n": 0,
                "unscored": 0,
                "seed": None,
                "provenance": f"absent: {reason}",
            }
        )
    return metrics_table(rows)
