"""EHRNoteQA's Table 3 where somebody has given its questions a category."""

import math

import pandas as pd

from schemas.tables.columns import typed
from schemas.tables.metrics import REPRODUCTION_ROWS

_SAMPLE = 100
"""Questions behind Table 3."""
_NORMAL = 1.96


def category_rows(counts: pd.DataFrame, table3: pd.DataFrame) -> pd.DataFrame:
    """REPRODUCTION_ROWS of Table 3 from the category shares in ``counts`` (METRICS of `review_counts`).

    None for generated questions. Tolerance: 95% limits of the difference of two shares of one distribution, the paper's
    of 100 questions and ours.
    """
    ours = counts[(counts["metric"] == "category_share") & (counts["condition"] == "outside")].set_index("item")
    printed = table3.set_index("category")["percent"] / 100
    rows = [
        {
            "source": "ehrnoteqa",
            "table": "Table 3",
            "row": category,
            "column": "percent",
            "published": 100 * share,
            "reproduced": 100 * float(ours.loc[category, "value"]),
            "tolerance": 100 * _NORMAL * math.sqrt(share * (1 - share) * (1 / _SAMPLE + 1 / int(ours["n"].iloc[0]))),
            "basis": "sampled",
            "note": "categories of the returned forms",
        }
        for category, share in printed.items()
        if category in ours.index
    ]
    return typed(rows, REPRODUCTION_ROWS)
