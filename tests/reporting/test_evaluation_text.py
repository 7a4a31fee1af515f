"""The summary of an evaluation in the terminal, and claims placed in the text that they come from."""

import pandas as pd

from tasks.reporting.alignment import align, segments
from tasks.reporting.evaluation_text import main_table, shown, summary_text

COLUMNS = ["system", "item", "metric", "value", "low", "high"]
METRICS = pd.DataFrame(
    [
        ("a", "all", "rouge1_f", 0.4, 0.35, 0.45),
        ("a", "all", "claim_recall", 0.5, 0.4, 0.6),
        ("b", "all", "claim_recall", 0.75, 0.7, 0.8),
        ("b", "plan", "claim_precision", 0.9, 0.8, 1.0),
        ("b", "all", "omission_weight", float("nan"), 0.1, 0.2),
        ("b", "all", "words", 40.0, 30.0, 50.0),
    ],
    columns=COLUMNS,
)


def comparisons(count: int) -> pd.DataFrame:
    row = {"system_a": "a", "system_b": "b", "item": "all", "difference": 0.25, "low": 0.125, "high": 0.5, "n": 20}
    rows = [row | {"metric": f"m{n:02}", "p": n / 1000, "changed": True} for n in range(count)]
    return pd.DataFrame([*rows, row | {"metric": "same", "p": 0.9, "changed": False}])


def test_only_measured_metrics_of_whole_texts_are_shown_in_the_fixed_order() -> None:
    names, rows = main_table(METRICS, ["a", "b"])
    assert names == ["claim_recall", "rouge1_f"]
    assert [(system, [row and row["value"] for row in found]) for system, found in rows] == [
        ("a", [0.5, 0.4]),
        ("b", [0.75, None]),
    ]
    assert (shown("claim_recall", 0.5), shown("rouge1_f", 0.5)) == ("50.0%", "0.500")


def test_the_summary_has_a_column_per_system_and_the_count_of_failures() -> None:
    lines = summary_text(METRICS, pd.DataFrame(), ["a", "b"], unscored=3, fewest=8).split("\n")
    assert lines == [
        "[1] a",
        "[2] b",
        "",
        " " * 20 + "[1]" + " " * 19 + "[2]",
        "claim recall" + " " * 8 + "50.0% (40.0–60.0)" + " " * 5 + "75.0% (70.0–80.0)",
        "ROUGE-1" + " " * 13 + "0.400 (0.350–0.450)" + " " * 3 + "–",
        "",
        "means over documents with 95% bootstrap intervals; failed judgements: 3 (tables/unscored.csv)",
    ]


def test_differences_beyond_chance_are_listed_by_p_and_the_rest_counted() -> None:
    lines = summary_text(METRICS, comparisons(14), ["a"], unscored=0, fewest=8).split("\n")
    start = lines.index("paired comparisons: 15; beyond chance (5% family-wise) on whole texts: 14")
    assert lines[start + 1] == "  b against a, m00: +0.250 [+0.125, +0.500], p 0.000, n 20"
    assert lines[start + 12].startswith("  b against a, m11:")
    assert lines[start + 13 :] == ["  ... and 2 more in tables/comparisons.csv"]
    assert "more in" not in summary_text(METRICS, comparisons(12), ["a"], unscored=0, fewest=8)


def test_differences_on_few_documents_are_said_to_be_untested() -> None:
    few = comparisons(1).assign(n=6, p=1.0, changed=False)
    last = summary_text(METRICS, few, ["a"], unscored=0, fewest=8).split("\n")[-1]
    assert last == "paired comparisons: 2; not tested, as this takes at least 8 documents"


TEXT = "The patient has a dry cough.\n\nNo fever, no dyspnea. Amoxicillin 500 mg was started."


def test_sentences_and_what_lies_between_them_make_up_the_text() -> None:
    cut = segments(TEXT)
    assert "".join(part for part, _ in cut) == TEXT
    assert [part for part, is_sentence in cut if is_sentence] == [
        "The patient has a dry cough.",
        "No fever, no dyspnea.",
        "Amoxicillin 500 mg was started.",
    ]
    assert segments(" \n") == [(" \n", False)] and segments("") == []


def test_a_claim_belongs_to_the_sentence_with_most_of_its_words() -> None:
    cut = segments(TEXT)
    claims = ["Dry cough is present.", "There is no fever.", "He was given amoxicillin.", "She smokes.", "of the"]
    cough, fever, drug = (at for at, (_, is_sentence) in enumerate(cut) if is_sentence)
    assert align(claims, cut) == [cough, fever, drug, None, None]


def test_of_equal_sentences_the_first_and_of_unequal_ones_the_shorter_is_taken() -> None:
    same = [("Cough.", True), (" ", False), ("Cough.", True)]
    assert align(["cough"], same) == [0]
    assert align(["cough"], [("Cough and fever.", True), ("Cough.", True)]) == [1]
    assert align(["cough"], [("cough", False)]) == [None]


def test_a_third_of_the_words_is_too_little() -> None:
    sentence = [("Cough.", True)]
    assert align(["cough fever"], sentence) == [0]
    assert align(["cough fever dyspnea"], sentence) == [None]


def test_words_agree_by_their_first_six_letters() -> None:
    assert align(["Dyspneic."], [("Dyspnea on exertion.", True)]) == [0]
    assert align(["Smoking."], [("Smoker for years.", True)]) == [None]


def test_comparisons_on_just_enough_documents_are_tested() -> None:
    def last(n: int) -> str:
        table = comparisons(1).assign(n=n, p=1.0, changed=False)
        return summary_text(METRICS, table, ["a"], unscored=0, fewest=8).split("\n")[-1]

    assert [("not tested" in last(n)) for n in (7, 8)] == [True, False]
