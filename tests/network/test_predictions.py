"""Another network claims nothing of SimSUM's tables, and counts of patients are those that the network expects."""

import numpy as np
import pytest

from flows.runtime.tables import check
from schemas.tables.metrics import METRICS
from tasks.network.inference import joint
from tasks.network.predictions import count_table, prediction_table
from tasks.papers.printed import items
from tasks.papers.reproduction import PUBLISHED, compared, verdict_of
from tests.network.networks import GUT, RESPIRATORY

TABLES = ("Table 7", "Table 8", "Table 9")


def test_another_network_claims_nothing_about_simsums_tables() -> None:
    tables = {"network_predictions": prediction_table(GUT)}
    rows = [row for name in TABLES for row in compared(items()["simsum", name], tables)]
    assert [(row["table"], row["basis"], row["row"]) for row in rows] == [(name, "absent", "all") for name in TABLES]


def test_counts_without_symptoms_agree_with_the_exact_expectation() -> None:
    counts = check(count_table(RESPIRATORY, 10_000, 40, 7), METRICS, "metrics")
    symptoms, conditions = RESPIRATORY.of_type("symptom"), RESPIRATORY.of_type("underlying condition")
    well = joint(RESPIRATORY, [*symptoms, *conditions])[0, 0, 0, 0, 0]
    expected = 10_000 * np.array([well.sum(), well.sum() - well[0, 0, 0, 0]])
    spread = np.sqrt(expected * (1 - expected / 10_000))
    item = items()["simsum", "Section 2.2"]
    rows = compared(item, {"published/network_counts": counts}, PUBLISHED)
    assert [row["reproduced"] for row in rows] == pytest.approx(expected.tolist(), abs=15)
    assert [row["tolerance"] for row in rows] == pytest.approx((1.96 * spread).tolist(), rel=0.3)
    assert [row["published"] for row in rows] == [3629, 239]
    assert {(row["basis"], verdict_of(row)) for row in rows} == {("sampled", "pass")}
    (few,) = compared(item, {"published/network_counts": counts.assign(n=200)}, PUBLISHED)
    assert few["basis"] == "absent", "the paper counts in 10,000 records"
