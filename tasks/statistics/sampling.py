"""Samples of records for stages with costly judgements. Stages with the same sample size draw the same records."""

import numpy as np
import pandas as pd

SAMPLE_STREAM = 81


def sample_records(records: pd.Series, size: int, *, seed: int) -> list[int]:
    """Draw ``size`` of the distinct ``records`` without replacement, in ascending order; all if there are fewer."""
    values = np.sort(records.unique())
    if len(values) > size:
        values = np.random.default_rng([seed, SAMPLE_STREAM]).choice(values, size, replace=False)
    return sorted(int(value) for value in values)
