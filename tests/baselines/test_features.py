"""Notes as embeddings; records as indices for trees and as 0, 1, one-hot and standardised columns for networks."""

import numpy as np
import pandas as pd

from tasks.baselines.note_vectors import NoteVectors, embed, scale_embeddings
from tasks.baselines.targets import Parts, ordinal_features, tabular_features
from tests.support.records import NETWORK, records_of

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


def test_constant_embeddings_scale_to_zero() -> None:
    assert not scale_embeddings(np.ones((3, 2), dtype=np.float32))[0].any()


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
