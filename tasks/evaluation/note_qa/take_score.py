"""Scores of repeated judging per take, with mean and standard deviation (EHRNoteQA, Section 4, Table 4)."""

import numpy as np
import numpy.typing as npt
import pandas as pd


def take_scores(judgements: pd.DataFrame) -> pd.Series:
    """Share of answers judged right, a take; verdicts of one system and form (columns take, verdict).

    Table 4 prints it in percent.
    """
    return judgements.groupby("take")["verdict"].mean()


def mean_and_deviation(takes: npt.ArrayLike) -> tuple[float, float]:
    """Mean over takes and their sample standard deviation (divisor: takes - 1), as Table 4 prints them.

    The deviation of a single take is nan.
    """
    array = np.asarray(takes, dtype=float)
    return float(array.mean()), float(array.std(ddof=1)) if array.size > 1 else np.nan
