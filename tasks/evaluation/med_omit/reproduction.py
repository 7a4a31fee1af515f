"""Compares MED-OMIT's printed correlations with ROUGE (Tables 2, 5) with those of other outputs of the same models."""

import numpy as np
import pandas as pd

from schemas.tables.columns import typed
from schemas.tables.metrics import REPRODUCTION_ROWS

SYSTEMS = {
    "gpt4": "GPT-4 (zero-shot, ACI-BENCH)",
    "gpt-4": "GPT-4 (zero-shot, ACI-BENCH)",
    "gpt-3.5-t": "ChatGPT (zero-shot, ACI-BENCH)",
    "gpt-3.5-turbo": "ChatGPT (zero-shot, ACI-BENCH)",
}
"""The outputs of ``doclens.systems`` by each printed name of the model."""
OVERLAP = {"rouge1": "rouge1_f", "rouge2": "rouge2_f", "rougeL": "rougeL_f", "rougeLsum": "rougeLsum_f",
           "Rouge LSum": "rougeLsum_f"}  # fmt: skip
COLUMNS = ("weight_spearman", "weight_pearson", "count_spearman", "count_pearson")
VISITS = 116
"""Dialogues behind the printed correlations."""


def correlation_rows(table2: pd.DataFrame, table5: pd.DataFrame, found: pd.DataFrame, *, basis: str) -> pd.DataFrame:
    """REPRODUCTION_ROWS of the correlations of omission weight and count with ROUGE; none without ``found``.

    ``found`` is METRICS of `omission_correlations`. The summaries are not the paper's but the subjective parts of other
    notes by the same models. The tolerance is the 95% sampling error of the difference of two independent correlations
    near 0: ``1.96 sqrt(1 / (116 - 3) + 1 / (n - 3))``.
    """
    ours = found.set_index(["system", "item", "metric"])[["value", "n"]]
    rows = []
    for table, printed in (("Table 2", table2), ("Table 5", table5)):
        for cell in printed.to_dict("records"):
            metric = OVERLAP.get(cell["comparison_metric"])
            labels = [cell[name] for name in ("summary_llm", "metric_llm", "comparison_metric") if name in cell]
            for column in COLUMNS if metric else ():
                omission, kind = column.split("_")
                key = (SYSTEMS[cell["summary_llm"]], f"{omission} and {metric}", kind)
                if key not in ours.index:
                    continue
                value, n = (float(number) for number in ours.loc[key])
                rows.append((table, " / ".join(labels), column, float(cell[column]), value, _sampling_error(n), basis))
    frame = pd.DataFrame(rows, columns=["table", "row", "column", "published", "reproduced", "tolerance", "basis"])
    note = "other summaries of the same model; tolerance: 95% sampling error of the difference, which 0 also meets"
    return typed(frame.assign(source="medomit", note=note).to_dict("records"), REPRODUCTION_ROWS)


def _sampling_error(n: float) -> float:
    return float(1.96 * np.sqrt(1 / (VISITS - 3) + 1 / (n - 3)))
