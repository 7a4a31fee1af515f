"""Style of notes, and its metric rows, worked by hand."""

import numpy as np
import pandas as pd
import pytest

from tasks.judges.writer_quality import (
    error_rows,
    five_grams,
    highest_overlap,
    near_duplicates,
    note_sentences,
    note_vectors,
    repeated_separability,
    separability,
    separability_rows,
    stock_sentences,
    style_rows,
    style_statistics,
    text_rows,
)
from tasks.simulator.truth import ERROR_KINDS, Truth
from tasks.simulator.writer.notes import PlantedError

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
    assert near_duplicates(["a b c d e f g h", "a b c d e f g h i"], 0.8) == [(0, 1, 0.8)]
    assert near_duplicates(["a b c d e f g", "a b c d e f g h i"], 0.8) == []
    assert highest_overlap(["a b c d e", "a b c d e f g h i"]) == 0.2
    assert highest_overlap(["a b c d e f", "a b c d e f g h i"]) == 0.4
    assert len(stock_sentences([])) == 0


KEY = ["condition", "item", "metric"]


def values(table: pd.DataFrame) -> dict[tuple[str, str, str], float]:
    return table.set_index(KEY)["value"].to_dict()


def test_shares_of_planted_errors_by_kind_and_together() -> None:
    planted = [*(PlantedError(kind, "cough") for kind in ("contradicted", "extra_condition", "contradicted")), None]
    normal = {record: Truth("", (), error) for record, error in enumerate(planted)}
    table = error_rows({"normal": normal, "compact": {0: Truth("", (), None), 1: Truth("", (), None)}})
    found = values(table)
    assert len(table) == len(found) == len(ERROR_KINDS["normal"]) + len(ERROR_KINDS["compact"]) + 2
    assert {key: share for key, share in found.items() if share} == {
        ("normal", "contradicted", "planted_share"): 0.5,
        ("normal", "extra_condition", "planted_share"): 0.25,
        ("normal", "all errors", "planted_share"): 0.75,
    }
    assert table.groupby("condition")["n"].unique().map(list).to_dict() == {"normal": [4], "compact": [2]}


def test_stock_sentences_and_near_duplicates_are_counted() -> None:
    words = [f"Word{n} is number {n} of them." for n in range(50)]
    normal = [f"No fever. {word}" for word in words[:49]] + ["Cough."]
    compact = [note[: len(note) // 2] for note in normal]
    long = "one two three four five six seven eight nine ten eleven twelve"
    found = values(text_rows({"normal": normal, "compact": compact}, [long, long, f"{long} more", "else"], seed=1))
    assert found["normal", "most frequent sentence", "share_of_notes"] == pytest.approx(49 / 50)
    assert found["normal", "sentences in over 2%", "count"] == 1, "one of 50 notes is not over 2%"
    assert found["normal", "word 5-gram Jaccard", "pairs_at_0.8"] == 3  # 8 of 9 five-grams are shared
    assert found["normal", "word 5-gram Jaccard", "highest_at_most"] == 1
    ratios = [len(b) / len(a) for a, b in zip(normal, compact, strict=True)]
    assert found["compact", "all", "characters_over_normal"] == pytest.approx(np.mean(ratios))
    assert highest_overlap(["a b c d e", "f g h i j"]) == 0.2
    assert highest_overlap([f"{long} x y z", long]) == pytest.approx(8 / 11)


def test_style_is_compared_with_equally_large_samples() -> None:
    real = {"normal": ["He coughs. No fever.", "Well."], "compact": ["Cough.", "Wel"]}
    written = {"normal": ["She coughs a lot. No fever. Tired."] * 5, "compact": ["Cough. Tired."] * 5}
    table = style_rows(written, real, draws=4, seed=1)
    found = values(table)
    published = style_statistics(real["normal"])
    sample = style_statistics(written["normal"][:2])
    for metric, value in published.items():
        assert found["normal", "style, real", metric] == value
        assert found["normal", "style, simulated", metric] == pytest.approx(sample[metric])
        assert found["normal", "style, ratio", metric] == pytest.approx(sample[metric] / value)
    rows = table.set_index(KEY)
    ratio = rows.loc[("normal", "style, ratio", "sentences_per_note")]
    assert (ratio["low"], ratio["high"], ratio["n"]) == (2.0, 2.0, 2)
    assert found["compact", "style, real", "characters_over_normal"] == pytest.approx((6 / 20 + 3 / 5) / 2)


def test_separability_rows_name_the_encoder_and_the_range_of_the_draws() -> None:
    draw = np.random.default_rng(3)
    real, written = draw.normal(size=(20, 3)).astype("float32"), draw.normal(size=(40, 3)).astype("float32")
    found = repeated_separability(real, written, draws=5, seed=4)
    (row,) = separability_rows({"normal": real}, {"normal": written}, draws=5, seed=4, encoder="e").to_dict("records")
    assert row["value"] == pytest.approx(found.mean()) and row["n"] == 20
    assert (row["low"], row["high"]) == pytest.approx(tuple(np.quantile(found, [0.025, 0.975])))
    assert row["provenance"].endswith("; e") and len(set(found)) > 1
