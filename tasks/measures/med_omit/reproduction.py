"""MED-OMIT by summary model (Table 3), its correlation with overlap (Tables 2 and 5), and the printed figures."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from schemas.params.measures import Overlap
from schemas.tables.columns import typed
from schemas.tables.metrics import REPRODUCTION_ROWS
from tasks.measures.measure import scores
from tasks.measures.med_omit.judging import NAME, OMISSIONS
from tasks.measures.overlap import correlated, score_correlations, score_texts
from tasks.reproduction.published import printed_cells, stand_in
from tasks.texts.document import WHOLE

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
PRINTED_DIALOGUES = 116
"""Dialogues behind the printed figures."""
TABLE_3 = {
    f"{measure}_{statistic}": f"omission_{measure}{suffix}"
    for measure in ("count", "weight")
    for statistic, suffix in (("mean", ""), ("std", "_std"))
}
"""Our metric by column of Table 3."""


def omission_rows(table3: pd.DataFrame, found: pd.DataFrame, model: str) -> pd.DataFrame:
    """REPRODUCTION_ROWS of the mean and standard deviation of omission count and weight; none without ``found``.

    ``found`` is METRICS of the omissions, by the judge ``model``. The summaries are not the paper's but the subjective
    parts of other notes by the same models. The tolerance is the 95% sampling error of the difference from an
    independent sample of dialogues: ``1.96 sqrt(s_1^2 / 116 + s_2^2 / n)`` for means,
    ``1.96 sqrt(s_1^2 / (2 * 115) + s_2^2 / 2 (n - 1))`` for standard deviations of normal values.
    """
    ours = found[found["item"] == WHOLE].set_index(["system", "metric"])[["value", "n"]]
    note = "other summaries of the same model; tolerance: 95% sampling error of the difference"
    rows = []
    for cell in printed_cells("medomit", "Table 3", table3):
        system, metric = SYSTEMS.get(cell.labels["summary_llm"], ""), TABLE_3[cell.column]
        if (system, metric) in ours.index:
            value, n = (float(number) for number in ours.loc[system, metric])
            spread, is_mean = cell.column.replace("_mean", "_std"), cell.column.endswith("_mean")
            printed = float(table3.loc[cell.line, spread])
            own = float(ours.loc[(system, TABLE_3[spread]), "value"])
            sizes = (PRINTED_DIALOGUES, n) if is_mean else (2 * (PRINTED_DIALOGUES - 1), 2 * (n - 1))
            tolerance = 1.96 * np.sqrt(printed**2 / sizes[0] + own**2 / sizes[1])
            rows.append(cell.reproduced(value, stand_in(model), tolerance=tolerance, note=note))
    return typed(rows, REPRODUCTION_ROWS)
