from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from flows.runtime.tables import check, read_table
from schemas.tables.metrics import REPRODUCTION_ROWS
from schemas.tables.records import PRINTED_ANTIBIOTICS, PRINTED_DAYS
from tasks.network.graph import NetworkDefinition
from tasks.network.inference import joint
from tasks.network.recovery import count_rows, reproduction_rows

PRINTED = Path(__file__).parents[2] / "tasks" / "reproduction" / "published"


@pytest.fixture(scope="module")
def printed() -> dict[str, pd.DataFrame]:
    return {
        "Table 7": read_table(PRINTED / "simsum_table7_antibiotics.csv", PRINTED_ANTIBIOTICS),
        "Table 8": read_table(PRINTED / "simsum_table8_days_train.csv", PRINTED_DAYS),
        "Table 9": read_table(PRINTED / "simsum_table9_days_test.csv", PRINTED_DAYS),
    }


def test_72_of_82_cells_come_out_to_the_digit_and_one_is_a_misprint(
    respiratory: NetworkDefinition, printed: dict[str, pd.DataFrame]
) -> None:
    rows = check(reproduction_rows(respiratory, printed), REPRODUCTION_ROWS, "rows")
    assert rows.groupby("table").size().to_dict() == {"Table 7": 18, "Table 8": 52, "Table 9": 12}
    difference = (rows["published"] - rows["reproduced"]).abs()
    to_the_digit = rows["note"].isna()
    assert to_the_digit.sum() == 72
    assert (difference[to_the_digit] <= rows["tolerance"][to_the_digit]).all()
    assert set(rows.loc[to_the_digit, "tolerance"]) == {0.005, 0.05}
    misprint = rows["note"].str.startswith("misprint", na=False)
    assert difference[misprint].round(2).tolist() == [0.26] and (rows["tolerance"][misprint] == 0.1).all()
    rest = ~to_the_digit & ~misprint
    assert rest.sum() == 9 and (difference[rest] <= rows["tolerance"][rest]).all()


def test_the_notes_on_nine_cells_are_correct(respiratory: NetworkDefinition, printed: dict[str, pd.DataFrame]) -> None:
    rows = reproduction_rows(respiratory, printed)
    unrounded = rows[rows["note"].str.contains("more digits than are printed", na=False)]
    assert len(unrounded) == 7
    for row in unrounded.itertuples():
        # A coefficient printed with two digits may be off by 0.005, and so may the log-rate for each that takes part.
        parts = 1 + sum(not part.endswith(("=no", "=none")) for part in row.row.split())
        assert abs(row.published - row.reproduced) <= row.reproduced * np.expm1(0.005 * parts) + row.tolerance / 2, row
    cut_off = rows[rows["note"].str.contains("cut off", na=False)]
    assert len(cut_off) == 2
    for row in cut_off.itertuples():
        assert np.floor(row.reproduced / row.tolerance) * row.tolerance == pytest.approx(row.published), row


def test_another_network_claims_nothing_about_simsums_tables(
    gut: NetworkDefinition, printed: dict[str, pd.DataFrame]
) -> None:
    assert reproduction_rows(gut, printed).empty
    assert count_rows(gut, 10_000, 100, 1).empty


def test_counts_without_symptoms_agree_with_the_exact_expectation(respiratory: NetworkDefinition) -> None:
    rows = check(count_rows(respiratory, 10_000, 80, 7), REPRODUCTION_ROWS, "rows")
    symptoms, conditions = respiratory.of_type("symptom"), respiratory.of_type("underlying condition")
    well = joint(respiratory, [*symptoms, *conditions])[0, 0, 0, 0, 0]
    expected = 10_000 * np.array([well.sum(), well.sum() - well[0, 0, 0, 0]])
    assert rows["reproduced"].to_numpy() == pytest.approx(expected, abs=15)
    spread = np.sqrt(expected * (1 - expected / 10_000))
    assert rows["tolerance"].to_numpy() == pytest.approx(1.96 * spread, rel=0.2)
    assert rows["published"].tolist() == [3629, 239]
    assert ((rows["published"] - rows["reproduced"]).abs() <= rows["tolerance"]).all()
