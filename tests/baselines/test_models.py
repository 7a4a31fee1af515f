"""Small tables: what is fitted, what is too little to fit, and the reasons that are listed."""

import pandas as pd
import pytest

from schemas.params.learning import Baselines
from schemas.tables.baselines import RELIABILITY
from schemas.tables.metrics import METRICS, UNSCORED
from tasks.baselines import bn_tab, bn_text, neural_text, xgboost_tab
from tasks.baselines.comparisons import Swaps, compared_pairs, paired_rows, unfitted, unfitted_tables
from tasks.baselines.scoring import reliability_rows
from tasks.baselines.targets import Parts, lacking, prediction_table, split_records
from tests.baselines.samples import TARGETS
from tests.support.records import NETWORK, records_of

SMALL = Baselines(xgboost={"folds": 2}, calibration_folds=3)


def parts_with(*train: dict[str, object], tests: int = 1) -> Parts:
    return Parts(NETWORK, records_of(*train), records_of(*[{}] * tests))


@pytest.mark.parametrize(("records", "tests"), [(1, 0), (2, 1), (3, 1), (4, 1), (8, 2), (10, 2), (1000, 200)])
def test_each_part_of_two_records_or_more_has_one(records: int, tests: int) -> None:
    split = split_records(pd.DataFrame({"record": range(records)}), test_share=0.2, seed=1)
    assert (split["part"] == "test").sum() == tests and len(split) == records


def test_a_predictor_needs_train_records_a_test_record_two_values_and_enough_of_each() -> None:
    four = parts_with({"cough": "yes"}, {"cough": "yes"}, {"cough": "yes", "pain": "yes"}, {})
    assert lacking(four) == {} and lacking(four, records=4) == {}
    assert lacking(four, records=5)["cough"] == "4 train records and 1 test records; needs 5 and 1"
    assert set(lacking(four, values=2)) == {"dyspnea", "fever", "nasal"}
    assert lacking(four, values=2)["fever"] == "none in all 4 train records; needs 2 values"
    assert lacking(four, each=1).keys() == {"dyspnea", "fever", "nasal"}
    assert lacking(four, each=2)["pain"] == "yes in 1 of 4 train records; needs 2 of each value"
    assert lacking(parts_with({}, tests=0))["cough"] == "1 train records and 0 test records; needs 1 and 1"


def test_reasons_are_rows_by_system_and_symptom() -> None:
    four = parts_with({"cough": "yes"}, {"cough": "yes"}, {}, {"pain": "yes"})
    reasons = unfitted(four, four.only({0, 1, 2}), SMALL)
    assert not [symptom for system, symptom in reasons if system == bn_tab.SYSTEM]
    by_system = {system: {s for of, s in reasons if of == system} for system, _ in reasons}
    assert by_system[xgboost_tab.SYSTEM] == {"dyspnea", "pain", "fever", "nasal"}
    assert by_system[neural_text.TEXT] == by_system[bn_text.SYSTEM] == {"dyspnea", "pain", "fever", "nasal"}
    unscored, rows = unfitted_tables(reasons, 4)
    assert set(UNSCORED.validate(unscored)["step"]) == {"fit"} and len(unscored) == len(rows) == len(reasons)
    assert METRICS.validate(rows)["value"].isna().all()
    assert "XGBoost-tab: pain" in unscored["detail"].tolist()


def test_nothing_fitted_is_an_empty_table() -> None:
    nothing = parts_with({}, tests=0)
    assert bn_tab.predict(nothing, SMALL.network, 1).empty
    predicted, tuned = xgboost_tab.predict(nothing, SMALL, 1)
    assert predicted.empty and tuned.empty


def test_without_two_fitted_models_nothing_is_compared() -> None:
    empty = prediction_table([])
    settings = TARGETS, Swaps(1, 100)
    assert METRICS.validate(paired_rows(empty, compared_pairs(), *settings, "test")).empty
    assert RELIABILITY.validate(reliability_rows(empty, settings[0], bins=10)).empty
