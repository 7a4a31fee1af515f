"""Compares reproduced with published values: a row passes if they differ by at most its tolerance."""

import numpy as np
import pandas as pd

KEY = ["source", "table", "row", "column"]
_ROUNDING = 1e-9  # a difference of exactly the tolerance passes in floating point


def judge(rows: pd.DataFrame) -> pd.DataFrame:
    """Add the verdict to rows of schemas.tables.metrics.REPRODUCTION_ROWS: ``pass``, ``fail`` or ``absent``.

    Only rows of basis ``absent`` are absent; a missing value of another basis fails.
    """
    difference = (rows["published"] - rows["reproduced"]).abs()
    within = difference <= rows["tolerance"] + _ROUNDING  # NaN compares as False
    verdict = np.where(rows["basis"] == "absent", "absent", np.where(within, "pass", "fail"))
    return rows.assign(verdict=pd.Series(verdict, index=rows.index, dtype="str")).sort_values(KEY, ignore_index=True)
