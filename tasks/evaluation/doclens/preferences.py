"""How often claim recall and another metric prefer different outputs of a document (DocLens, Section 4.3, Table 11)."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from tasks.evaluation.overlap.scores import part_texts, rouge
from tasks.statistics.bootstrap import mean_interval
from tasks.statistics.metric_rows import Row, metric_row, metric_table

SECTIONS = ("objective_exam", "assessment_and_plan")
"""The sections of Table 11."""
OTHERS = ("rouge1_r", "rouge2_r", "rougeL_r")


def section_preferences(
    scores: pd.DataFrame, texts: pd.DataFrame, references: Mapping[str, str], *, seed: int, provenance: str
) -> pd.DataFrame:
    """METRICS of condition "preferences of metrics": `disagreement` of claim recall with ROUGE recall by section.

    ``scores`` has the columns document, system, item, metric and value; ``texts`` document, system and text.
    """
    recall = scores[scores["metric"] == "claim_recall"].rename(columns={"value": "claim_recall"})
    rows = []
    for section in SECTIONS:
        overlap = _section_overlap(texts, references, section)
        both = recall[recall["item"] == section].merge(overlap, on=["document", "system"])
        for other in OTHERS:
            rows.append(_row(both, other, section, seed))
    shared = {"stage": "doclens", "condition": "preferences of metrics", "seed": seed, "provenance": provenance}
    return metric_table(rows, **shared)


def _section_overlap(texts: pd.DataFrame, references: Mapping[str, str], section: str) -> pd.DataFrame:
    """ROUGE recall of a section of each output: document, system and the columns `OTHERS`."""
    keys = texts[["document", "system"]].reset_index(drop=True)
    expected = part_texts([references[name] for name in keys["document"]], section)
    found = rouge(expected, part_texts(texts["text"].tolist(), section))
    return pd.concat([keys, found[list(OTHERS)]], axis=1)


def _row(both: pd.DataFrame, other: str, section: str, seed: int) -> Row:
    found = [
        disagreements(group["claim_recall"].to_numpy(dtype=float), group[other].to_numpy(dtype=float))
        for _, group in both.groupby("document", sort=True)
    ]
    shares = [wrong / pairs for wrong, pairs in found if pairs]
    value, low, high = mean_interval(shares, seed=seed)
    pairs = sum(pairs for _, pairs in found)
    return metric_row("disagreement", value, low, high, n=pairs, system=f"claim_recall and {other}", item=section)


def disagreements(one: Sequence[float] | np.ndarray, other: Sequence[float] | np.ndarray) -> tuple[int, int]:
    """Pairs of outputs that two metrics rank in opposite order, and all pairs; a tie agrees with both orders."""
    first, second = np.triu_indices(len(one), k=1)
    left, right = np.asarray(one), np.asarray(other)
    opposite = np.sign(left[first] - left[second]) * np.sign(right[first] - right[second]) < 0
    return int(opposite.sum()), len(first)
