"""Small tables: what is fitted and what is too little; records and notes as features."""

import numpy as np
import pandas as pd
import pytest

from schemas.params.learning import Baselines
from schemas.tables.metrics import METRICS, UNSCORED
from tasks.baselines import bn_tab, bn_text, neural_text, xgboost_tab
from tasks.baselines.comparisons import unfitted, unfitted_tables
from tasks.baselines.note_vectors import NoteVectors, embed, scale_embeddings
from tasks.baselines.targets import Parts, lacking, ordinal_features, split_records, tabular_features
from tasks.network.fitting import fit
from tasks.network.graph import EVIDENCE_SETTINGS, EvidenceSetting, evidence_columns
from tasks.network.inference import posterior
from tests.baselines.samples import records
from tests.support.cases import each
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


@each("setting", EVIDENCE_SETTINGS)
def test_bn_tab_gives_the_posterior_in_the_fitted_network(setting: EvidenceSetting) -> None:
    frame = records(260)
    parts = Parts(NETWORK, frame.head(200), frame.tail(60))
    found = bn_tab.predict(parts, SMALL.network, 1).query("condition == @setting and symptom == 'cough'")
    fitted = fit(NETWORK, parts.train, SMALL.network, seed=1)
    expected = posterior(fitted, parts.test[evidence_columns(fitted, "cough", setting)], "cough")[:, 1]
    assert found["record"].tolist() == parts.test["record"].tolist()
    assert found["probability"].tolist() == pytest.approx(expected)


IDS = np.array([4, 9])
RECORDS = records_of(
    {"cough": "yes", "fever": "high", "days_at_home": 1}, {"fever": "low", "days_at_home": 5}, {"days_at_home": 3}
)
COLUMNS = ["cough", "fever", "days_at_home"]
NOTE = "**History**\nA cough. No pain.\n\n**Physical Examination**\nLungs clear."


def _vectors() -> NoteVectors:
    notes = pd.DataFrame({"record": [4, 9], "note": [NOTE, "No headings here. None at all."]})
    compact = pd.DataFrame({"record": [4], "compact": ["**History**\nA cough."]})
    spans = pd.DataFrame(
        [
            {"record": 4, "version": "normal", "symptom": "cough", "start": 12, "end": 19, "text": "A cough"},
            {"record": 4, "version": "normal", "symptom": "cough", "start": 14, "end": 19, "text": "cough"},
        ]
    )
    return NoteVectors(*embed(notes, compact, spans, lambda texts: np.array([[len(t), 1] for t in texts], np.float32)))


def test_embeddings_are_means_by_section() -> None:
    vectors = _vectors()
    np.testing.assert_allclose(vectors.embedding("hist", "normal", IDS), [[8, 1], [14.5, 1]])
    np.testing.assert_allclose(vectors.embedding("phys", "normal", IDS), [[12, 1], [0, 0]])
    np.testing.assert_allclose(vectors.embedding("mean", "normal", IDS), [[10, 1], [14.5, 1]])
    np.testing.assert_allclose(vectors.embedding("concat", "normal", IDS)[0], [8, 1, 12, 1])


def test_span_embeddings_are_of_one_symptom_and_zero_without_a_span() -> None:
    vectors = _vectors()
    np.testing.assert_allclose(vectors.embedding("span", "normal", IDS, "cough"), [[6, 1], [0, 0]])
    np.testing.assert_allclose(vectors.embedding("span", "normal", IDS, "fever"), 0)


def test_ordinal_features_are_indices_of_values_and_counts() -> None:
    assert ordinal_features(RECORDS, COLUMNS, NETWORK).tolist() == [[1, 2, 1], [0, 1, 5], [0, 0, 3]]
    assert ordinal_features(RECORDS, [], NETWORK).shape == (3, 0)


def test_fever_is_one_hot_and_days_are_standardised_by_the_train_records() -> None:
    train, test = tabular_features(COLUMNS, Parts(NETWORK, RECORDS.head(2), RECORDS))
    expected = [[1, 0, 0, 1, -1], [0, 0, 1, 0, 1], [0, 1, 0, 0, 0]]  # mean 3, deviation 2
    assert test.tolist() == expected and train.tolist() == expected[:2]
    assert tabular_features([], Parts(NETWORK, RECORDS, RECORDS))[1].shape == (3, 0)


def test_equal_counts_are_not_divided_by_zero() -> None:
    same = RECORDS.assign(days_at_home=4)
    parts = Parts(NETWORK, same, same.assign(days_at_home=[4, 5, 6]))
    _, found = tabular_features(["days_at_home"], parts)
    assert found.ravel().tolist() == [0, 1, 2] and found.dtype == np.float32


def test_scaled_embeddings_have_unit_rms_on_train_and_others_move_along() -> None:
    train = np.array([[1.0, 10.0], [3.0, 14.0]], dtype=np.float32)
    scaled, other = scale_embeddings(train, np.array([[2.0, 12.0]], dtype=np.float32))
    np.testing.assert_allclose(scaled.mean(axis=0), 0, atol=1e-6)
    np.testing.assert_allclose(np.mean(scaled**2), 1, rtol=1e-6)
    np.testing.assert_allclose(scaled[1], [1 / np.sqrt(2.5), 2 / np.sqrt(2.5)], rtol=1e-6)  # one factor for both
    np.testing.assert_allclose(other, 0, atol=1e-6)


def test_as_released_a_record_without_span_has_its_whole_note() -> None:
    vectors = _vectors().as_released(["whole note without span"])
    np.testing.assert_allclose(vectors.embedding("span", "normal", IDS, "cough"), [[6, 1], [14.5, 1]])


def test_as_released_sentence_vectors_have_unit_length_and_inputs_no_scale() -> None:
    normalised = _vectors().as_released(["normalised sentences"])
    np.testing.assert_allclose(np.linalg.norm(normalised.vectors, axis=1), 1, rtol=1e-6)
    unscaled = _vectors().as_released(["unscaled inputs"])
    np.testing.assert_array_equal(unscaled.inputs("mean", "normal", IDS)[0], unscaled.embedding("mean", "normal", IDS))
    scaled = _vectors().inputs("mean", "normal", IDS)[0]
    np.testing.assert_allclose(np.mean(scaled**2), 1, rtol=1e-6)
