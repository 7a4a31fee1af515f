"""All baselines on small tables, on too few records, and in worker processes."""

from collections import defaultdict

import numpy as np
import pandas as pd
import pytest

from schemas.params.learning import Baselines, Neural, Schedule, XgboostTab
from schemas.tables.baselines import PREDICTIONS, RELIABILITY, SPLIT, TUNED
from schemas.tables.metrics import METRICS, UNSCORED
from tasks.baselines import bn_tab, bn_text, neural_text, xgboost_tab
from tasks.baselines.comparisons import (
    VARIANTS,
    Swaps,
    compared_pairs,
    effect_rows,
    missing_rows,
    paired_rows,
    provenance_by_system,
    text_pairs,
    unfitted,
    unfitted_tables,
)
from tasks.baselines.scoring import metric_rows, reliability_rows
from tasks.baselines.targets import Parts, lacking, parts_of, prediction_table, split_records
from tasks.baselines.xgboost_tab import GRIDS, QUICK, tuned_rows
from tasks.network.evidence import EVIDENCE_SETTINGS
from tests.baselines.samples import TARGETS, note_vectors, records
from tests.support.records import NETWORK, records_of

PARAMS = Baselines(
    seeds=[0, 1],
    processes=1,
    draws=100,
    xgboost=XgboostTab(grid="quick", folds=2, verify=2),
    neural=Neural(
        hidden=16,
        batch_size=20,
        least_rows=1,
        two_values=Schedule(epochs=8, learning_rate=1e-2),
        more_values=Schedule(epochs=8, learning_rate=1e-2),
    ),
    calibration_folds=2,
)
SEED = 5


SWAPS = Swaps(SEED, 100)
TWO = [target for target in TARGETS if target.symptom in ("cough", "fever")]
"""A symptom with two values and one with more."""


def of_two(predictions: pd.DataFrame) -> pd.DataFrame:
    return predictions[predictions["symptom"].isin([target.symptom for target in TWO])]


@pytest.fixture(scope="module")
def parts() -> Parts:
    split = SPLIT.validate(split_records(records(), test_share=0.25, seed=SEED))
    return parts_of(NETWORK, records(), split)


@pytest.fixture(scope="module")
def predictions(parts: Parts) -> dict[str, pd.DataFrame]:
    vectors = note_vectors(records())
    text = neural_text.predict(parts, vectors, PARAMS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(GRIDS, "quick", {**QUICK, "max_depth": (2,), "n_estimators": (5, 10), "min_child_weight": (1,)})
        boosted, tuned = xgboost_tab.predict(parts, PARAMS, SEED)
    return {
        "bn_tab": bn_tab.predict(parts, PARAMS.network, SEED),
        "xgboost_tab": boosted,
        "tuned": tuned,
        "neural_text": text,
        "neural_text_tab": neural_text.predict_with_tables(parts, vectors, PARAMS),
        "bn_text": bn_text.predict(parts, vectors, text, PARAMS, SEED),
    }


@pytest.fixture(scope="module")
def together(predictions: dict[str, pd.DataFrame]) -> pd.DataFrame:
    return pd.concat([frame for name, frame in predictions.items() if name != "tuned"], ignore_index=True)


@pytest.fixture(scope="module")
def scores(together: pd.DataFrame) -> pd.DataFrame:
    made_by = provenance_by_system(["writer"], "encoder")
    return METRICS.validate(metric_rows(together, TARGETS, 10, made_by))


def _f1(scores: pd.DataFrame, system: str, condition: str, symptom: str) -> float:
    rows = scores.query("system == @system and condition == @condition and item == @symptom and metric == 'f1'")
    return float(rows["value"].item())


def test_every_model_gives_a_probability_for_every_test_record(together: pd.DataFrame, predictions: dict) -> None:
    PREDICTIONS.validate(together)
    TUNED.validate(predictions["tuned"])
    rows = together.groupby(["system", "condition", "symptom", "seed"])["record"].nunique()
    assert (rows == 100).all()
    bn_tab_rows = together.query("system == 'BN-tab'")
    assert (bn_tab_rows["probability"] > 0).all() and set(bn_tab_rows["condition"]) == set(EVIDENCE_SETTINGS)
    conditions = together.groupby("system")["condition"].nunique().to_dict()
    assert conditions == {
        "BN-tab": 3,
        "XGBoost-tab": 3,
        "neural-text": 10,
        "neural-text-tab": 6,
        "BN-text": 6,
        "neural-text calibrated": 2,
    }


def test_text_predicts_better_than_tables_and_spans_best(scores: pd.DataFrame) -> None:
    symptoms = ["dyspnea", "cough", "nasal"]
    tab = np.mean([_f1(scores, "BN-tab", "all", s) for s in symptoms])
    text = np.mean([_f1(scores, "neural-text", "normal/mean", s) for s in symptoms])
    span = np.mean([_f1(scores, "neural-text", "normal/span", s) for s in symptoms])
    assert tab < text < span + 0.02


def test_each_deviation_of_the_released_code_is_compared_with_the_default(parts: Parts) -> None:
    short = {name: Schedule(epochs=2, learning_rate=1e-2) for name in ("two_values", "more_values")}
    params = PARAMS.model_copy(update={"seeds": [0], "neural": PARAMS.neural.model_copy(update=short)})
    few = records(160)
    rows = effect_rows(parts.only(set(few["record"])), note_vectors(few, mentioned=0.5), params, SWAPS, "test")
    effects = METRICS.validate(rows).query("metric == 'f1_difference'")
    by_variant = effects.groupby("system")["value"].apply(lambda values: values.abs().max())
    assert set(by_variant.index) == set(VARIANTS) and (by_variant > 0).all()
    whole_note = effects[effects["system"] == "neural-text, whole note without span"]
    assert not whole_note.loc[~whole_note["condition"].str.contains("span"), "value"].any()


def test_comparisons_cover_both_versions_and_are_adjusted(together: pd.DataFrame) -> None:
    rows = METRICS.validate(paired_rows(of_two(together), compared_pairs(), TWO, SWAPS, "test"))
    assert len(rows) == 2 * 3 * 2 * len(TWO) * 3
    p = rows.query("metric == 'p_value'")["value"].to_numpy()
    adjusted = rows.query("metric == 'p_value_adjusted'")["value"].to_numpy()
    assert (p > 0).all() and (adjusted >= p).all() and (adjusted <= 1).all()


def test_comparisons_of_the_paper_are_those_of_the_models_own_scores(together: pd.DataFrame) -> None:
    """The mean of the paired differences is the difference of the means, which the interval is about."""
    rows = paired_rows(of_two(together), text_pairs(), TWO, SWAPS, "test").query("metric == 'f1_difference'")
    assert len(rows) == 9 * len(TWO) and (rows["low"] <= rows["value"]).all() and (rows["value"] <= rows["high"]).all()
    scores = metric_rows(together, TARGETS, 10, defaultdict(str)).query("metric == 'f1'")
    of = scores.set_index(["system", "condition", "item"])["value"]
    row = rows[rows["condition"].eq("normal/mean against neural-text compact/mean") & rows["item"].eq("cough")].iloc[0]
    apart = of["neural-text", "normal/mean", "cough"] - of["neural-text", "compact/mean", "cough"]
    assert row["value"] == pytest.approx(apart, abs=1e-6)


def test_reliability_counts_every_prediction_once(together: pd.DataFrame) -> None:
    rows = RELIABILITY.validate(reliability_rows(together, TARGETS, bins=10))
    counted = rows.groupby(["system", "condition", "symptom", "value"])["n"].sum()
    seeds = together.groupby(["system", "condition", "symptom", "value"]).size()
    pd.testing.assert_series_equal(counted, seeds, check_names=False)


def test_tuned_rows_name_the_grid(predictions: dict) -> None:
    rows = METRICS.validate(tuned_rows(predictions["tuned"], 300, SEED))
    assert rows["condition"].str.endswith("quick grid of 12").all()
    assert (rows["metric"] == "cv_f1").sum() == 15


def test_a_test_record_without_a_note_is_counted() -> None:
    assert UNSCORED.validate(missing_rows([3, 1, 2], {1, 2, 4}))["record"].tolist() == ["3"]


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
