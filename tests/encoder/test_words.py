"""Vectors of words from those of their pieces."""

import numpy as np

from tasks.encoder.encoder import _means


def test_a_word_has_the_mean_of_its_pieces_and_reaches_from_the_first_to_the_last() -> None:
    vectors = np.array([[9.0], [1.0], [3.0], [5.0], [9.0]], dtype=np.float32)
    places = np.array([[0, 0], [0, 2], [2, 4], [5, 8], [0, 0]])
    words = _means(vectors, places, np.array([-1, 0, 0, 1, -1]))
    assert words.vectors.tolist() == [[2.0], [5.0]]
    assert (words.starts.tolist(), words.ends.tolist()) == ([0, 5], [4, 8])
