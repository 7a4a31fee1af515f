"""Compares MED-OMIT's printed correlations with ROUGE (Tables 2, 5) with those of other outputs of the same models."""

import numpy as np
import pandas as pd

from schemas.tables.columns import typed
from schemas.tables.metrics import REPRODUCTION_ROWS
from tasks.reproduction.published import printed_cells

SYSTEMS = {
    "gpt4": "GPT-4 (zero-shot, ACI-BENCH)",
    "gpt-4": "GPT-4 (zero-shot, ACI-BENCH)",
    "gpt-3.5-t": "ChatGPT (zero-shot, ACI-BENCH)",
    "gpt-3.5-turbo": "ChatGPT (zero-shot, ACI-BENCH)",
}
"""The outputs of ``doclens.systems`` by each printed name of the model."""
OVERLAP = {"rouge1": "rouge1_f", "rouge2": "rouge2_f", "rougeL": "rougeL_f", "rougeLsum": "rougeLsum_f",
           "Rouge LSum": "rougeLsum_f"}  # fmt: skip
VISITS = 116
"""Dialogues behind the printed correlations."""


def correlation_rows(table2: pd.DataFrame, table5: pd.DataFrame, found: pd.DataFrame, *, basis: str) -> pd.DataFrame:
    """REPRODUCTION_ROWS of the correlations of omission weight and count with ROUGE; none without ``found``.

    ``found`` is METRICS of `omission_correlations`. The summaries are not the paper's but the subjective parts of other
    notes by the same models. The tolerance is the 95% sampling error of the difference of two independent correlations
    near 0: ``1.96 sqrt(1 / (116 - 3) + 1 / (n - 3))``.
    """
    ours = found.set_index(["system", "item", "metric"])[["value", "n"]]
    note = "other summaries of the same model; tolerance: 95% sampling error of the difference, which 0 also meets"
    rows = []
    for cell in [*printed_cells("medomit", "Table 2", table2), *printed_cells("medomit", "Table 5", table5)]:
        overlap = OVERLAP.get(cell.labels["comparison_metric"])
        omission, _, kind = cell.column.partition("_")
        key = (SYSTEMS[cell.labels["summary_llm"]], f"{omission} and {overlap}", kind)
        if key in ours.index:
            value, n = (float(number) for number in ours.loc[key])
            rows.append(cell.reproduced(value, basis, tolerance=_sampling_error(n), note=note))
    return typed(rows, REPRODUCTION_ROWS)


def _sampling_error(n: float) -> float:
    return float(1.96 * np.sqrt(1 / (VISITS - 3) + 1 / (n - 3)))
