"""Patients over time in the dataset are split by patient."""

from functools import cache
from io import BytesIO

import pandas as pd
import pyarrow.parquet as pq
import pytest

from tasks.dataset.export import SPLITS, split_patients, visit_splits
from tasks.dataset.fields import visits_path
from tasks.network.visits import visit_dates
from tests.dataset.test_export import exported
from tests.support.histories import random_visits


def notes_of(visits: pd.DataFrame) -> pd.DataFrame:
    texts = [f"Visit {row.visit} of {row.patient}, Hüsteln" for row in visits.itertuples()]
    return visits[["record", "patient", "visit", "day"]].assign(text=texts, consistent=True, provenance="rules")


@cache
def made(patients: int = 20) -> tuple[dict[str, pd.DataFrame], int]:
    visits = random_visits("respiratory", patients)
    notes = notes_of(visits)[lambda table: table["record"] != 302]
    shares = {"test_share": 0.2, "validation_share": 0.1}
    return visit_splits(visits, visit_dates(visits), notes, **shares, seed=7)


@cache
def dataset() -> dict[str, bytes]:
    return exported(over_time=made())


def test_all_visits_of_a_patient_are_in_one_split() -> None:
    visits = random_visits("respiratory", 20)
    tables = {split: pq.read_table(BytesIO(dataset()[visits_path(split)])).to_pandas() for split in SPLITS}
    patients = {split: set(table["patient"]) for split, table in tables.items()}
    assert {split: len(own) for split, own in patients.items()} == {"train": 13, "validation": 2, "test": 4}
    assert sum(map(len, patients.values())) == len(set().union(*patients.values())) == 19
    rows = pd.concat(tables.values())
    expected = visits[visits["patient"] != 3]
    assert sorted(rows["record"]) == sorted(expected["record"]), "patient 3 lacks the note of a visit"
    assert (rows["record"] == rows["patient"] * 100 + rows["visit"]).all() and rows["record"].is_unique
    assert max(table.groupby("patient").size().max() for table in tables.values()) > 1
    assert made()[1] == 1


@pytest.mark.parametrize("count", [0, 1, 2, 5, 40])
@pytest.mark.parametrize("shares", [(0.2, 0.1), (0.5, 0.9), (0.9, 0.1)])
def test_splits_hold_each_patient_once_and_leave_one_to_train_on(shares: tuple[float, float], count: int) -> None:
    parts = split_patients(list(range(count)), *shares, 7)
    assert sorted(patient for own in parts.values() for patient in own) == list(range(count))
    assert all(parts.values()) and ("train" in parts) == (count > 0)
    assert parts == split_patients(list(range(count)), *shares, 7)
