"""Measures of the quality of the simulator's writer."""

import numpy as np
import pytest

from tasks.evaluation.simulator_quality.quality import (
    five_grams,
    highest_overlap,
    near_duplicates,
    note_sentences,
    note_vectors,
    separability,
    stock_sentences,
    style_statistics,
)

NOTE = "**History**\nThe patient coughs. No fever.\n\n**Physical Examination**\nLungs clear."


def test_headings_are_no_sentences() -> None:
    assert note_sentences(NOTE) == ["The patient coughs.", "No fever.", "Lungs clear."]


def test_style_statistics_by_hand() -> None:
    found = style_statistics([NOTE, NOTE])
    assert found["sentences_per_note"] == 3
    assert found["words_per_sentence"] == pytest.approx(7 / 3)
    assert found["type_token_ratio"] == 0.5
    assert found["distinct_bigrams"] == pytest.approx(7 / 13)  # six within a note, one between the two
    assert found["characters_per_note"] == len(NOTE)


def test_stock_sentences_count_notes_not_occurrences() -> None:
    shares = stock_sentences(["No fever. No fever. Well.", "NO FEVER.", "Ill.", "Fine."])
    assert shares["no fever."] == 0.5
    assert shares.index[0] == "no fever."


def test_near_duplicates_are_those_of_all_pairs() -> None:
    draw = np.random.default_rng(4)
    words = [f"w{n}" for n in range(40)]
    base = [[str(w) for w in draw.choice(words, 60)] for _ in range(8)]
    notes = []
    for text in base:
        for changes in (0, 1, 4):
            copy = list(text)
            for place in draw.choice(len(copy), changes, replace=False):
                copy[place] = "changed"
            notes.append(" ".join(copy))
    grams = [five_grams(note) for note in notes]
    for threshold in (0.3, 0.8):
        expected = {
            (i, j)
            for j in range(len(notes))
            for i in range(j)
            if len(grams[i] & grams[j]) / len(grams[i] | grams[j]) >= threshold
        }
        assert {(i, j) for i, j, _ in near_duplicates(notes, threshold)} == expected
        assert expected


def test_equal_sets_are_indistinguishable_and_shifted_ones_are_not() -> None:
    draw = np.random.default_rng(2)
    real = draw.normal(size=(60, 5)).astype("float32")
    assert separability(real, draw.normal(size=(60, 5)).astype("float32"), seed=0) < 0.75
    assert separability(real, real + 4, seed=0) > 0.99
    with pytest.raises(ValueError, match="equal numbers"):
        separability(real, real[:10], seed=0)


def test_a_note_is_the_mean_of_its_sentences() -> None:
    def lengths(texts: list[str]) -> np.ndarray:
        return np.array([[len(text)] for text in texts], dtype="float32")

    vectors = note_vectors([NOTE, "Well."], lengths)
    assert vectors.ravel().tolist() == pytest.approx([(19 + 9 + 12) / 3, 5])


def test_an_overlap_equal_to_the_threshold_makes_a_near_duplicate() -> None:
    assert near_duplicates(["a b c d", "a b c d e"], 0.8, size=1) == [(0, 1, 0.8)]
    assert near_duplicates(["a b c", "a b c d e"], 0.8, size=1) == []
    assert highest_overlap(["a", "a b c d e"], size=1) == 0.2
    assert highest_overlap(["a b", "a b c d e"], size=1) == 0.4
    assert len(stock_sentences([])) == 0
