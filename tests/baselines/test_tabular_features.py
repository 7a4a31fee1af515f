"""Records as numbers: indices for trees; 0 and 1, one-hot and standardised columns for networks (Appendix F.4)."""

import numpy as np

from tasks.baselines.neural_text import joint_targets
from tasks.baselines.tabular_features import TabularFeatures, ordinal_features
from tasks.network.definition import load_definition
from tests.support.records import records_of

NETWORK = load_definition()
RECORDS = records_of(
    {"cough": "yes", "fever": "high", "days_at_home": 1}, {"fever": "low", "days_at_home": 5}, {"days_at_home": 3}
)
COLUMNS = ["cough", "fever", "days_at_home"]


def test_ordinal_features_are_indices_of_values_and_counts() -> None:
    assert ordinal_features(RECORDS, COLUMNS, NETWORK).tolist() == [[1, 2, 1], [0, 1, 5], [0, 0, 3]]
    assert ordinal_features(RECORDS, [], NETWORK).shape == (3, 0)


def test_fever_is_one_hot_and_days_are_standardised_by_the_train_records() -> None:
    features = TabularFeatures(COLUMNS, NETWORK).fit(RECORDS.head(2))
    assert features.owner == ["cough", "fever", "fever", "fever", "days_at_home"]
    expected = [[1, 0, 0, 1, -1], [0, 0, 1, 0, 1], [0, 1, 0, 0, 0]]  # mean 3, deviation 2
    assert features.transform(RECORDS).tolist() == expected
    assert TabularFeatures([], NETWORK).fit(RECORDS).transform(RECORDS).shape == (3, 0)


def test_equal_counts_are_not_divided_by_zero() -> None:
    same = RECORDS.assign(days_at_home=4)
    found = TabularFeatures(["days_at_home"], NETWORK).fit(same).transform(same.assign(days_at_home=[4, 5, 6]))
    assert found.ravel().tolist() == [0, 1, 2] and found.dtype == np.float32


def test_symptoms_with_as_many_values_are_trained_together() -> None:
    groups = [[target.symptom for target in group] for group in joint_targets(NETWORK)]
    assert groups == [["dyspnea", "cough", "pain", "nasal"], ["fever"]]
