"""Answer choices and the judge of answers, on examples that can be worked by hand."""

import pandas as pd
import pytest

from tasks.evaluation.note_qa.choice_quality import grounded_share, length_ratio, right_is_longest, unfit
from tasks.evaluation.note_qa.truth_score import judge_on_answers_rows, judge_rows

OTHERS = ["x" * 20, "y" * 10, "z" * 9, "w" * 8]


@pytest.mark.parametrize(
    ("length", "fits"),
    [(30, True), (31, False)],  # 1.5 times the longest of the others, which has 20 characters
)
def test_the_right_choice_may_be_half_as_long_again(length: int, fits: bool) -> None:
    assert (unfit(["r" * length, *OTHERS], "a") is None) is fits


def test_a_short_right_choice_is_never_too_long() -> None:
    assert unfit(["r" * 20, "a", "b", "c", "d"], "A") is None
    assert unfit(["r" * 21, "a", "b", "c", "d"], "A") == "the right choice is far the longest"
    assert unfit(["a", "r" * 40, "b", "c", "d"], "A") is None, "a wrong choice is the longest"


@pytest.mark.parametrize(
    ("choices", "right", "reason"),
    [
        (["a", "b", "c", "d"], "A", "not five choices"),
        (["a", "b", "c", "d", " "], "A", "not five choices"),
        (["a", "b", "c", "d", " A "], "A", "two choices are the same"),
        (["a", "b", "c", "d", "e"], "F", "no letter for the right choice"),
    ],
)
def test_unfit_choices_have_a_reason(choices: list[str], right: str, reason: str) -> None:
    assert unfit(choices, right) == reason


def test_lengths_and_grounding_of_choices() -> None:
    assert right_is_longest(["aa", "b", "c", "d", "e"], "A")
    assert not right_is_longest(["aa", "bb", "c", "d", "e"], "A")
    assert length_ratio(["aaaa", "a"]) == 0.25
    assert grounded_share("The dry cough was of 38.5", "Cough; temp 38.5.") == pytest.approx(2 / 3)
    assert grounded_share("was the", "x") == 1


def verdicts(*rows: tuple[str, str, str, str, float]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["question", "version", "form", "variant", "verdict"]).assign(patient="p")


def test_the_judge_is_right_where_its_verdict_agrees_with_the_letter() -> None:
    judged = verdicts(
        ("q1", "normal", "choice", "", 1), ("q1", "normal", "choice", "", 0),  # two takes on a right answer
        ("q2", "normal", "choice", "", 0),  # a wrong answer, found wrong
        ("q3", "normal", "choice", "", 1),  # a wrong answer, found right
        ("q4", "normal", "choice", "", 1),  # an answer without a letter
    )  # fmt: skip
    answers = pd.DataFrame({"question": ["q1", "q2", "q3", "q4"], "version": "normal", "form": "choice"})
    answers["letter"] = ["A", "B", "C", None]
    questions = pd.DataFrame({"question": ["q1", "q2", "q3", "q4"], "answer": ["A", "A", "A", "A"]})
    (row,) = judge_on_answers_rows(judged, answers, questions, seed=1)
    assert (row["value"], row["n"]) == (pytest.approx((0.5 + 1 + 0) / 3), 3)
    assert judge_on_answers_rows(judged.tail(1), answers, questions, seed=1) == []


def test_the_judge_of_planted_answers_by_hand() -> None:
    takes = {"q1": [1], "q2": [0, 0, 1], "q3": [1, 1, 0], "q4": [0], "q5": [0, 1]}
    variants = {"q1": "right", "q2": "right", "q3": "wrong", "q4": "wrong", "q5": "wrong"}
    rows = [(name, "planted", "free", variants[name], given) for name, found in takes.items() for given in found]
    judged = verdicts(*rows, ("q1", "normal", "free", "right", 0))
    planted = pd.DataFrame({"question": list(variants), "variant": list(variants.values())})
    planted = planted.assign(form="free", patient="p")
    planted["right"] = planted["variant"] == "right"
    found = {(row["metric"], row["item"]): (row["value"], row["n"]) for row in judge_rows(judged, planted, seed=1)}
    assert found["accuracy", "planted"] == (pytest.approx((1 + 1 / 3 + 1 / 3 + 1 + 0.5) / 5), 5)
    assert found["accuracy", "planted: right"] == (pytest.approx((1 + 1 / 3) / 2), 2)
    assert found["precision", "planted"] == (0.5, 2), "q1 and q3 are found right by most takes, q5 by half only"
    assert found["recall", "planted"] == (0.5, 2)
    assert judge_rows(judged.tail(1), planted, seed=1) == []
