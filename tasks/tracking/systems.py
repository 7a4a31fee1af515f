"""Compares every two systems of one evaluation on the same documents, with the tests that compare lineages."""

from collections.abc import Mapping
from itertools import combinations

import numpy as np
import pandas as pd

from schemas.tables.columns import typed
from schemas.tables.evaluate import SYSTEM_COMPARISONS
from tasks.tracking.comparison import compare_all
from tasks.tracking.measures import Ids, Measure
from tasks.tracking.pairing import pair

_KEY = ["stage", "condition", "item", "metric"]
COMPARED = (
    "claim_recall", "claim_precision", "citation_recall", "citation_precision", "omission_count", "omission_share",
    "omission_weight", "qa_free_text", "qa_multiple_choice", "rouge1_f", "rouge2_f", "rougeL_f", "rougeLsum_f", "bleu",
    "bertscore_f1", "words",
)  # fmt: skip
"""Metrics of the family that is tested; precision and recall of ROUGE would add tests of nearly the same difference."""


def compare_systems(scores: pd.DataFrame, failed: Mapping[str, Ids], order: list[str], *, seed: int) -> pd.DataFrame:
    """SYSTEM_COMPARISONS of every two systems in ``order``, with p adjusted for all measures and pairs.

    ``scores`` is DOCUMENT_SCORES; ``failed``: numbers of the documents that could not be scored, by system.
    """
    chosen = scores[scores["metric"].isin(COMPARED)]
    measures = {system: _measures(chosen[chosen["system"] == system], failed.get(system)) for system in order}
    pairs = list(combinations([system for system in order if measures[system]], 2))
    families = [
        [pair(measures[a][key], measures[b][key]) for key in sorted(set(measures[a]) & set(measures[b]))]
        for a, b in pairs
    ]
    if not pairs:
        return typed([], SYSTEM_COMPARISONS)
    tables = [
        table.assign(system_a=a, system_b=b)
        for (a, b), table in zip(pairs, compare_all(families, seed=seed), strict=True)
    ]
    joined = pd.concat(tables, ignore_index=True)
    return typed(joined, SYSTEM_COMPARISONS).sort_values(list(SYSTEM_COMPARISONS.unique or []), ignore_index=True)


def _measures(scores: pd.DataFrame, failed: Ids | None) -> dict[tuple[str, ...], Measure]:
    """Measures of one system by stage, condition, item and metric."""
    found = {}
    for key, group in scores.sort_values("record").groupby(_KEY, sort=True):
        parts = group["value"].to_numpy(np.float32)[:, None, None, None]
        stage, condition, item, metric = key
        records = group["record"].to_numpy(np.int64)
        missing = np.empty(0, dtype=np.int64) if failed is None else failed
        found[key] = Measure((stage, "", condition, item, metric), records, parts, failed=missing)
    return found
