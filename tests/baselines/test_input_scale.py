"""Embeddings of any encoder reach the classifiers on one scale."""

import numpy as np

from tasks.baselines.input_scale import on_one_scale


def test_train_varies_by_one_around_nought_and_others_move_with_it() -> None:
    train = np.array([[1.0, 10.0], [3.0, 14.0]], dtype=np.float32)
    told, other = on_one_scale(train, np.array([[2.0, 12.0]], dtype=np.float32))
    np.testing.assert_allclose(told.mean(axis=0), 0, atol=1e-6)
    np.testing.assert_allclose(np.mean(told**2), 1, rtol=1e-6)
    np.testing.assert_allclose(told[1], [1 / np.sqrt(2.5), 2 / np.sqrt(2.5)], rtol=1e-6)  # one factor for both
    np.testing.assert_allclose(other, 0, atol=1e-6)


def test_the_encoders_own_scale_does_not_matter() -> None:
    train = np.random.default_rng(0).normal(size=(50, 4)).astype(np.float32)
    np.testing.assert_allclose(on_one_scale(train * 70)[0], on_one_scale(train)[0], atol=1e-5)


def test_embeddings_that_do_not_vary_are_nought() -> None:
    assert not on_one_scale(np.ones((3, 2), dtype=np.float32))[0].any()
