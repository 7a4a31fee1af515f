"""Judges reproduction rows: does the reproduced figure lie within the tolerance of the published one?"""

import numpy as np
import pandas as pd

KEY = ["source", "table", "row", "column"]
_ROUNDING = 1e-9  # so that a difference of exactly the tolerance passes in floating point


def judge(rows: pd.DataFrame) -> pd.DataFrame:
    """Add the verdict to rows of schemas.tables.metrics.REPRODUCTION_ROWS: ``pass``, ``fail`` or ``absent``.

    ``absent`` is a row of basis ``absent``, never a figure that came out missing: that one fails.
    """
    difference = (rows["published"] - rows["reproduced"]).abs()
    within = difference <= rows["tolerance"] + _ROUNDING  # a missing figure or tolerance compares as False
    verdict = np.where(rows["basis"] == "absent", "absent", np.where(within, "pass", "fail"))
    return rows.assign(verdict=pd.Series(verdict, index=rows.index, dtype="str")).sort_values(KEY, ignore_index=True)


def summarise(judged: pd.DataFrame) -> pd.DataFrame:
    """Counts of verdicts for each source, table and basis."""
    counts = judged.groupby(["source", "table", "basis", "verdict"]).size().unstack("verdict", fill_value=0)
    for verdict in ("pass", "fail", "absent"):
        if verdict not in counts:
            counts[verdict] = 0
    return counts[["pass", "fail", "absent"]].reset_index()
