"""Reproduction row of SimSUM's consistency check: flagged notes (Section 2.2)."""

import numpy as np
import pandas as pd
from scipy.stats import norm

from schemas.tables.columns import typed
from schemas.tables.metrics import REPRODUCTION_ROWS

PUBLISHED_FLAGGED, PUBLISHED_NOTES = 52, 10_000
_CONFIDENCE = 0.99


def flagged_row(attempts: pd.DataFrame, basis: str) -> pd.DataFrame:
    """REPRODUCTION_ROWS (one row): percent of first notes that the check flags, of those with a verdict.

    ``attempts``: ATTEMPTS. The tolerance is the sampling error of both shares at 99% confidence. Basis absent if no
    note has a verdict, as for notes that were not checked here.
    """
    verdicts = attempts.loc[attempts["attempt"] == 0, "consistent"].dropna()
    published = PUBLISHED_FLAGGED / PUBLISHED_NOTES
    row = {
        "source": "simsum",
        "table": "Section 2.2, consistency check",
        "row": "% of notes flagged",
        "column": "first notes",
        "published": 100 * published,
        "reproduced": np.nan,
        "tolerance": np.nan,
        "basis": "absent",
        "note": "needs a check of the notes; notes from a file are not checked",
    }
    if len(verdicts):
        error = np.sqrt(published * (1 - published) * (1 / PUBLISHED_NOTES + 1 / len(verdicts)))
        row["reproduced"] = 100 * float((~verdicts.astype(bool)).mean())
        row["tolerance"] = 100 * float(norm.ppf((1 + _CONFIDENCE) / 2) * error)
        row |= {"basis": basis, "note": f"{len(verdicts)} notes with a verdict"}
    return typed([row], REPRODUCTION_ROWS)
