"""Variance components: values worked out by hand, unbalanced data, and what cannot be told."""

import numpy as np
import pandas as pd
import pytest

from tasks.planning.components import BY_RATER, NOTE, QUESTION, RATER, RATING, TAKE, Components, Pilot, differences


def frame(columns: str, rows: list[tuple]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=columns.split())


def test_a_balanced_one_way_layout_gives_the_analysis_of_variance() -> None:
    # Means 2, 5 and 8; within 2 each. MS between = 2 * 9 = 18, MS within = 2: note (18 - 2) / 2 = 8.
    rows = frame("document score", [("a", 1), ("a", 3), ("b", 4), ("b", 6), ("c", 7), ("c", 9)])
    found = Pilot(rows).components()
    assert found.variances == pytest.approx({NOTE: 8.0, QUESTION: 2.0})
    assert (found.mean, found.notes, found.n, found.unequal) == (5.0, 3, 6, 0.0)


def test_an_unbalanced_one_way_layout_gives_searles_estimate() -> None:
    # Sizes 1 and 3, scores 6 | 0, 3, 3. Means 6, 2; grand mean 3. SSB = 9 + 3 = 12 with 1 degree, SSW = 4 + 1 + 1 = 6
    # with 2, so MSW = 3. n0 = (4 - 10 / 4) / 1 = 1.5, note = (12 - 3) / 1.5 = 6.
    rows = frame("document score", [("a", 6), ("b", 0), ("b", 3), ("b", 3)])
    found = Pilot(rows).components()
    assert found.variances == pytest.approx({NOTE: 6.0, QUESTION: 3.0})
    assert found.unequal == pytest.approx(0.25)  # sizes 1 and 3: variance 1, mean 2


def test_a_nested_layout_parts_notes_questions_and_takes() -> None:
    # Question means 1, 5 | 9, 13 with takes +-1: MS take = 2, MS question = 2 * 16 / 2 = 16, MS note = 4 * 32 = 128.
    # take 2, question (16 - 2) / 2 = 7, note (128 - 16) / 4 = 28.
    means = {("a", "q1"): 1, ("a", "q2"): 5, ("b", "q1"): 9, ("b", "q2"): 13}
    rows = [
        (note, question, take, mean + step)
        for (note, question), mean in means.items()
        for take, step in ((1, -1), (2, 1))
    ]
    found = Pilot(frame("document question take score", rows)).components()
    assert found.variances == pytest.approx({NOTE: 28.0, QUESTION: 7.0, TAKE: 2.0})


def test_crossed_raters_are_parted_from_notes() -> None:
    # Notes by raters: (1, 3), (4, 6), (7, 12). Note means 2, 5, 9.5, rater means 4, 7, grand 5.5.
    # MS note = 2 * (12.25 + 0.25 + 16) / 2 = 28.5, MS rater = 3 * 4.5 = 13.5, residuals +-.5, +-.5, +-1:
    # MS = 3 / 2 = 1.5. Rater (13.5 - 1.5) / 3 = 4, note (28.5 - 1.5) / 2 = 13.5.
    scores = {"a": (1, 3), "b": (4, 6), "c": (7, 12)}
    rows = [(note, f"r{at}", score) for note, pair in scores.items() for at, score in enumerate(pair)]
    found = Pilot(frame("document rater score", rows)).components()
    assert found.variances == pytest.approx({NOTE: 13.5, RATER: 4.0, BY_RATER: 1.5})


def test_components_of_many_scores_are_those_that_made_them() -> None:
    draw = np.random.default_rng(0)
    notes, raters, questions = 400, 12, 3
    at = np.indices((notes, questions, raters)).reshape(3, -1)
    effects = (
        draw.normal(0, 1.0, notes)[at[0]] + draw.normal(0, 0.8, (notes, questions))[at[0], at[1]]
        + draw.normal(0, 0.5, raters)[at[2]] + draw.normal(0, 0.6, (notes, raters))[at[0], at[2]]
        + draw.normal(0, 0.7, at.shape[1])
    )  # fmt: skip
    rows = pd.DataFrame({"document": at[0], "question": at[1], "rater": at[2], "score": effects}).astype(
        {"document": str}
    )
    kept = draw.random(len(rows)) < 0.8
    found = Pilot(rows[kept]).components().variances
    for name, made, near in ((NOTE, 1.0, 0.25), (QUESTION, 0.64, 0.1), (BY_RATER, 0.36, 0.06), (RATING, 0.49, 0.05)):
        assert found[name] == pytest.approx(made, abs=near), name
    assert 0.05 < found[RATER] < 0.7


def test_an_estimate_below_zero_counts_as_zero_and_is_kept() -> None:
    # Equal means 2: MS between 0, MS within 2, note (0 - 2) / 2 = -1.
    found = Pilot(frame("document score", [("a", 1), ("a", 3), ("b", 1), ("b", 3)])).components()
    assert found.variances == pytest.approx({NOTE: 0.0, QUESTION: 2.0})
    assert found.negative == pytest.approx({NOTE: -1.0})


def test_one_question_a_note_is_part_of_the_note() -> None:
    rows = frame(
        "document question take score", [("a", "q", 1, 0), ("a", "q", 2, 1), ("b", "r", 1, 1), ("b", "r", 2, 1)]
    )
    assert list(Pilot(rows).components().variances) == [NOTE, TAKE]


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([("a", 1.0), ("a", 2.0)], "1 document with a score; expected at least 2"),
        ([("a", 1.0), ("b", 1.0)], "all 2 scores are 1; nothing varies"),
    ],
)
def test_too_little_is_refused(rows: list[tuple], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Pilot(frame("document score", rows)).components()


def test_items_that_raters_share_have_to_be_named() -> None:
    rows = [(note, rater, float(item == rater)) for note in "ab" for rater in "xy" for item in "xz"]
    with pytest.raises(ValueError, match="expected a column question"):
        Pilot(frame("document rater score", rows)).components()


def test_differences_pair_questions_and_order_takes() -> None:
    rows = frame(
        "document question take system score",
        [
            ("d", "q", "1", "a", 0.0), ("d", "q", "2", "a", 1.0), ("d", "q", "7", "b", 1.0), ("d", "q", "9", "b", 1.0),
            ("d", "r", "1", "a", 1.0), ("e", "q", "1", "b", 0.0),
        ],
    )  # fmt: skip
    found, alone = differences(rows, "a", "b")
    assert found["score"].tolist() == [1.0, 0.0]
    assert alone == 2


def test_two_systems_that_correlate_vary_less_in_their_difference() -> None:
    one = Components(0.8, {NOTE: 0.04, TAKE: 0.1})
    assert one.doubled(0.75).variances == pytest.approx({NOTE: 0.02, TAKE: 0.05})
    assert one.doubled(0.75).mean == 0.0
