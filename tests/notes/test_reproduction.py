"""The published share of flagged notes is compared with the share of the run."""

import pandas as pd
import pytest

from schemas.tables.metrics import REPRODUCTION_ROWS
from tasks.notes.consistency import flagged_row

ATTEMPTS = pd.DataFrame(
    {"record": [0, 1, 1, 2, 3], "attempt": [0, 0, 1, 0, 0], "consistent": [True, False, True, None, True]}
)


def test_flagged_notes_are_counted_among_first_notes_with_a_verdict():
    row = REPRODUCTION_ROWS.validate(flagged_row(ATTEMPTS, "fitted")).iloc[0]
    assert (row["published"], row["reproduced"]) == pytest.approx((0.52, 100 / 3))
    assert row["tolerance"] == pytest.approx(257.6 * (0.0052 * 0.9948 / 3) ** 0.5, rel=1e-3)


def test_notes_without_a_verdict_give_an_absent_row():
    unchecked = flagged_row(ATTEMPTS.assign(consistent=None), "recomputed")
    assert unchecked["basis"].tolist() == ["absent"] and unchecked["reproduced"].isna().all()
