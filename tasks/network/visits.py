"""Numbers and dates of a patient's visits."""

from datetime import date, timedelta
from functools import cache

import numpy as np
import numpy.typing as npt
import pandas as pd

from schemas.params.records import Visits

_SIZES, _FIRST = 1101, 1102
_FIRST_DAY, _DAYS = date(2012, 1, 2), 700


def visits_per_patient(params: Visits, seed: int) -> npt.NDArray[np.int64]:
    """Number of visits of each patient: 1 to ``params.most``, truncated geometric, then ``params.long_visits``."""
    uniform = np.random.default_rng([seed, _SIZES]).random((params.patients, params.most - 1))
    returns = np.cumprod(uniform < params.another, axis=1)
    return np.concatenate([1 + returns.sum(axis=1), np.array(params.long_visits, dtype=np.int64)]).astype(np.int64)


@cache
def first_date(patient: int) -> date:
    """The date of a patient's first visit, the same in every run."""
    return _FIRST_DAY + timedelta(days=int(np.random.default_rng([_FIRST, patient]).integers(_DAYS)))


def date_of(patient: int, day: int | None) -> str:
    """The ISO date of a day since a patient's first visit; empty for None."""
    return "" if day is None else (first_date(patient) + timedelta(days=int(day))).isoformat()


def visit_dates(visits: pd.DataFrame) -> pd.Series:
    """The ISO date of each visit, from the columns patient and day."""
    dates = list(map(date_of, visits["patient"].tolist(), visits["day"].tolist()))
    return pd.Series(dates, index=visits.index, name="date", dtype="str")
