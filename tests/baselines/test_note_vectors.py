import numpy as np
import pandas as pd

from tasks.baselines.note_vectors import NoteVectors, embed, scale_embeddings
from tasks.baselines.tabular_features import TabularFeatures, ordinal_features
from tests.baselines.samples import definition, records

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


def test_each_distinct_text_has_one_vector() -> None:
    vectors = _vectors()
    assert len(vectors.vectors) == len(
        {"A cough.", "No pain.", "Lungs clear.", "No headings here.", "None at all.", "A cough", "cough"}
    )
    assert len(vectors.note_sentences) == 6


def test_embeddings_are_means_by_section() -> None:
    vectors, ids = _vectors(), np.array([4, 9])
    np.testing.assert_allclose(vectors.embedding("hist", "normal", ids), [[8, 1], [14.5, 1]])
    np.testing.assert_allclose(vectors.embedding("phys", "normal", ids), [[12, 1], [0, 0]])
    np.testing.assert_allclose(vectors.embedding("mean", "normal", ids), [[10, 1], [14.5, 1]])
    np.testing.assert_allclose(vectors.embedding("concat", "normal", ids)[0], [8, 1, 12, 1])


def test_span_embeddings_are_of_one_symptom_and_zero_without_a_span() -> None:
    vectors, ids = _vectors(), np.array([4, 9])
    np.testing.assert_allclose(vectors.embedding("span", "normal", ids, "cough"), [[6, 1], [0, 0]])
    np.testing.assert_allclose(vectors.embedding("span", "normal", ids, "fever"), 0)


def test_records_without_a_version_are_left_out() -> None:
    assert _vectors().records().tolist() == [4]


def test_dyspnea_has_seventeen_features_with_all_evidence() -> None:
    """768 + 17 inputs, as Appendix F.4 says."""
    frame = records(200)
    columns = [name for name in definition().variables if name != "dyspnea"]
    features = TabularFeatures(columns, definition()).fit(frame)
    matrix = features.transform(frame)
    assert matrix.shape == (200, 17) and len(features.owner) == 17
    days = matrix[:, features.owner.index("days_at_home")]
    np.testing.assert_allclose([days.mean(), days.std()], [0, 1], atol=1e-6)
    assert set(matrix[:, features.owner.index("fever")]) == {0, 1}


def test_ordinal_features_are_indices_into_the_list_of_values() -> None:
    frame = records(50)
    codes = ordinal_features(frame, ["fever", "days_at_home"], definition())
    expected = frame["fever"].map({"none": 0, "low": 1, "high": 2})
    np.testing.assert_array_equal(codes[:, 0], expected)
    np.testing.assert_array_equal(codes[:, 1], frame["days_at_home"])


def test_scaled_embeddings_have_unit_rms_on_train_and_others_move_along() -> None:
    train = np.array([[1.0, 10.0], [3.0, 14.0]], dtype=np.float32)
    scaled, other = scale_embeddings(train, np.array([[2.0, 12.0]], dtype=np.float32))
    np.testing.assert_allclose(scaled.mean(axis=0), 0, atol=1e-6)
    np.testing.assert_allclose(np.mean(scaled**2), 1, rtol=1e-6)
    np.testing.assert_allclose(scaled[1], [1 / np.sqrt(2.5), 2 / np.sqrt(2.5)], rtol=1e-6)  # one factor for both
    np.testing.assert_allclose(other, 0, atol=1e-6)


def test_the_scale_of_the_encoder_does_not_matter() -> None:
    train = np.random.default_rng(0).normal(size=(50, 4)).astype(np.float32)
    np.testing.assert_allclose(scale_embeddings(train * 70)[0], scale_embeddings(train)[0], atol=1e-5)


def test_constant_embeddings_scale_to_zero() -> None:
    assert not scale_embeddings(np.ones((3, 2), dtype=np.float32))[0].any()


def test_as_released_a_record_without_span_has_its_whole_note() -> None:
    vectors, ids = _vectors().as_released(["whole note without span"]), np.array([4, 9])
    np.testing.assert_allclose(vectors.embedding("span", "normal", ids, "cough"), [[6, 1], [14.5, 1]])


def test_as_released_sentence_vectors_have_unit_length_and_inputs_no_scale() -> None:
    ids = np.array([4, 9])
    normalised = _vectors().as_released(["normalised sentences"])
    np.testing.assert_allclose(np.linalg.norm(normalised.vectors, axis=1), 1, rtol=1e-6)
    unscaled = _vectors().as_released(["unscaled inputs"])
    np.testing.assert_array_equal(unscaled.inputs("mean", "normal", ids)[0], unscaled.embedding("mean", "normal", ids))
    scaled = _vectors().inputs("mean", "normal", ids)[0]
    np.testing.assert_allclose(np.mean(scaled**2), 1, rtol=1e-6)
