"""Span agreement checked by hand, and rates of verdicts."""

import re

import pandas as pd
import pytest

from tasks.evaluation.annotator.consistency_checks import verdict_rows
from tasks.evaluation.annotator.quality import (
    Counts,
    SymptomSpan,
    absent_row,
    agreement,
    agreement_rows,
    agreement_table,
    f1,
    matched,
    overlap,
    precision,
    recall,
    span_counts,
    spans_by_record,
    state_counts,
    states,
    token_counts,
    whole_sentences,
)
from tasks.evaluation.annotator.real_notes import RealNote
from tasks.evaluation.annotator.scripted_edits import edited_notes, wanted_states
from tasks.evaluation.simulator_quality import span_cross_validation


def test_spans_pair_one_to_one() -> None:
    reference = [SymptomSpan("cough", 0, 10), SymptomSpan("cough", 20, 30)]
    assert matched([SymptomSpan("cough", 0, 5), SymptomSpan("cough", 0, 10)], reference, 0.5) == 1
    assert matched([SymptomSpan("fever", 0, 10)], reference, 0.5) == 0
    # Greedy matching in order would assign the second prediction's only match to the first.
    predicted = [SymptomSpan("cough", 0, 12), SymptomSpan("cough", 0, 10)]
    both = [SymptomSpan("cough", 0, 10), SymptomSpan("cough", 0, 16)]
    assert matched(predicted, both, 0.6) == 2


def test_f1_adds_up_over_notes() -> None:
    one = span_counts([SymptomSpan("cough", 0, 10)], [SymptomSpan("cough", 0, 10)], 0.5)
    none = span_counts([], [SymptomSpan("cough", 0, 10), SymptomSpan("cough", 20, 30)], 0.5)
    assert f1([one, none]) == pytest.approx(2 * 1 / (1 + 3))


def test_states_are_read_off_the_words() -> None:
    note = "No cough, fever present. Reports dyspnea but denies fever. afebrile"
    spans = [SymptomSpan("cough", 0, 8), SymptomSpan("dyspnea", 25, 40), SymptomSpan("fever", 59, 67)]
    assert states(note, spans) == {"cough": "absent", "dyspnea": "present", "fever": "absent"}


def test_comparison_annotator_marks_whole_sentences() -> None:
    assert whole_sentences("No cough. All well.", {"cough": "cough"}) == [SymptomSpan("cough", 0, 9)]


def test_rates_do_not_depend_on_the_number_of_notes_per_kind() -> None:
    kinds = ["dropped"] * 10 + ["none"] * 40
    flagged = [True] * 9 + [False] + [True] * 2 + [False] * 38
    verdicts = pd.DataFrame({"record": range(50), "check": "consistency", "kind": kinds, "flagged": flagged})
    verdicts["flagged"] = verdicts["flagged"].astype("boolean")
    rows = verdict_rows(verdicts, stage="s", system="a", seed=1, provenance="p").set_index(["item", "metric"])["value"]
    assert rows["dropped", "recall"] == pytest.approx(0.9)
    assert rows["dropped", "precision"] == pytest.approx(0.9 / (0.9 + 0.05))
    assert rows["none", "specificity"] == pytest.approx(0.95)


def test_edits_make_the_named_change() -> None:
    note = (
        "**History**\nThe patient reports a cough. The patient denies fever.\n\n"
        "**Physical Examination**\nTemperature 36.8°C. Lungs clear."
    )
    spans = [SymptomSpan("cough", note.index("a cough"), note.index("a cough") + 7)]
    spans.append(SymptomSpan("fever", note.index("denies fever"), note.index("denies fever") + 12))
    assert wanted_states(note, spans) == {"cough": "yes", "fever": "none"}
    edits = edited_notes({1: note}, {1: spans}, lambda **lists: str(lists), seed=3)
    kinds = {one.kind: one.note for one in edits}
    assert set(kinds) == {"unchanged", "negation turned", "temperature changed", "sentence removed", "condition added"}
    assert "reports fever" in kinds["negation turned"]
    assert "36.8" not in kinds["temperature changed"]
    assert len(kinds["sentence removed"]) < len(note) < len(kinds["condition added"])
    assert edits == edited_notes({1: note}, {1: spans}, lambda **lists: str(lists), seed=3)


def test_absence_of_the_source_is_a_row() -> None:
    assert absent_row(7)["value"].isna().all()


def test_overlap_is_the_shared_part_of_the_joint_stretch() -> None:
    assert overlap(SymptomSpan("cough", 0, 10), SymptomSpan("cough", 5, 20)) == pytest.approx(5 / 20)
    assert overlap(SymptomSpan("cough", 0, 10), SymptomSpan("pain", 0, 10)) == 0
    assert overlap(SymptomSpan("cough", 0, 10), SymptomSpan("cough", 10, 20)) == 0
    assert overlap(SymptomSpan("cough", 2, 4), SymptomSpan("cough", 2, 4)) == 1


def test_an_overlap_equal_to_the_threshold_is_a_match() -> None:
    half = [SymptomSpan("cough", 0, 10)], [SymptomSpan("cough", 0, 20)]
    assert (matched(*half, 0.5), matched(*half, 0.51), matched([], half[1], 0.5)) == (1, 0, 0)


def test_tokens_count_once_per_symptom_and_at_any_contact() -> None:
    note = "dry cough at night"
    ours = [SymptomSpan("cough", 4, 9), SymptomSpan("cough", 4, 9), SymptomSpan("pain", 13, 18)]
    theirs = [SymptomSpan("cough", 0, 5)]  # ends within the second word
    assert token_counts(note, ours, theirs) == Counts(1, 2, 2)
    assert token_counts(note, [SymptomSpan("cough", 3, 4)], []) == Counts(0, 0, 0), "a blank is no token"


def test_scores_of_hand_counted_notes() -> None:
    counts = [Counts(1, 2, 1), Counts(1, 1, 3)]
    assert (precision(counts), recall(counts), f1(counts)) == pytest.approx((2 / 3, 2 / 4, 4 / 7))
    assert all(score([Counts(0, 0, 0)]) != score([Counts(0, 0, 0)]) for score in (precision, recall, f1))  # nan
    assert state_counts({"cough": "present", "fever": "absent"}, {"cough": "present", "fever": "present"}) == Counts(
        1, 2, 2
    )


@pytest.mark.parametrize(
    ("words", "state"),
    [
        ("denies cough", "absent"),
        ("no fever but a cough", "present"),
        ("no fever; a cough", "present"),
        ("cough was absent", "absent"),
        ("cough, pain denied", "present"),
        ("cough without cough", "absent"),
        ("cough at night", "present"),
        ("lungs clear to auscultation", "absent"),
        ("productive", "present"),
    ],
)
def test_a_span_denies_its_symptom_within_its_clause(words: str, state: str) -> None:
    assert states(words, [SymptomSpan("cough", 0, len(words))]) == {"cough": state}


def test_one_affirming_span_makes_a_symptom_present() -> None:
    note = "no cough. dry cough. no cough"
    spans = [SymptomSpan("cough", *at) for at in ((0, 8), (10, 19), (21, 29))]
    assert states(note, spans) == {"cough": "present"}


def test_agreement_is_counted_note_by_note_for_every_measure() -> None:
    notes = {4: "dry cough", 5: "no fever"}
    found = agreement(notes, {4: [SymptomSpan("cough", 0, 4)]}, {4: [SymptomSpan("cough", 0, 9)]})
    assert found["span_iou_0.5"] == [Counts(0, 1, 1), Counts(0, 0, 0)]
    assert found["span_iou_0.3"] == [Counts(1, 1, 1), Counts(0, 0, 0)]
    assert found["token"] == [Counts(1, 1, 2), Counts(0, 0, 0)]
    assert found["symptom_in_note"] == [Counts(1, 1, 1), Counts(0, 0, 0)]
    rows = agreement_rows("a", "normal", {"token": [Counts(1, 1, 2)] * 3}, seed=1, provenance="p", unscored=2)
    values = rows.set_index("metric")[["value", "low", "high", "n", "unscored"]]
    assert values.loc["recall"].tolist() == [0.5, 0.5, 0.5, 3, 2]
    assert values.loc["precision"].tolist() == [1, 1, 1, 3, 2]
    assert values.loc["f1", "value"] == pytest.approx(2 / 3)


def test_both_annotators_are_measured_on_the_chosen_half_of_the_notes() -> None:
    texts = {"normal": "A dry cough. All well.", "compact": "Cough."}
    notes = [RealNote(record, texts, {"normal": [SymptomSpan("cough", 0, 12)], "compact": []}) for record in (1, 2, 4)]
    rows = [(1, "normal", "cough", 0, 12), (2, "normal", "cough", 0, 3), (2, "compact", "cough", 0, 5)]
    spans = pd.DataFrame(rows, columns=["record", "version", "symptom", "start", "end"])
    table = agreement_table(notes, spans, "odd records", seed=1, provenance="rules", unscored=1)
    found = table.set_index(["system", "condition", "item", "metric"])
    key = ("annotator", "normal, odd records", "span_iou_0.5", "f1")
    assert found.loc[key, ["value", "n", "unscored", "provenance"]].tolist() == [1, 1, 1, "rules"]
    sentence = ("whole sentence a keyword", "normal, odd records", "token", "recall")
    assert found.loc[sentence, ["value", "unscored", "provenance"]].tolist() == [1, 0, "computed, no model"]
    both = agreement_table(notes, spans, "all", seed=1, provenance="rules", unscored=0)
    assert both.set_index(["system", "condition", "item", "metric"]).loc[
        ("annotator", "normal", "span_iou_0.5", "recall"), ["value", "n"]
    ].tolist() == [pytest.approx(1 / 3), 3]
    named = spans_by_record(spans, {"cough": "Cough"})
    assert set(named["symptom"]) == {"Cough"}


def edits(note: str, *phrases: tuple[str, str], seed: int = 1) -> dict[str, str]:
    """The note after each kind of edit; spans are given by symptom and phrase."""
    spans = [SymptomSpan(symptom, note.index(text), note.index(text) + len(text)) for symptom, text in phrases]
    return {one.kind: one.note for one in edited_notes({1: note}, {1: spans}, lambda **_: "", seed=seed)}


EXAM = "\n\nPhysical Examination\nLungs clear."


@pytest.mark.parametrize(
    ("sentence", "turned"),
    [
        ("She denies having any cough.", "She reports cough."),
        ("Parents deny any cough.", "Parents report cough."),
        ("No signs of cough.", "Complaints of cough."),
        ("Rest without any cough.", "Rest with cough."),
        ("No associated cough today.", "Noticeable cough today."),
        ("She reports a cough.", "She denies a cough."),
        ("He presented with cough.", "He denies cough."),
        ("Complains of cough.", "Denies cough."),
    ],
)
def test_a_statement_is_turned_into_its_opposite(sentence: str, turned: str) -> None:
    assert edits(f"Well. {sentence}{EXAM}", ("cough", sentence[:-1]))["negation turned"] == f"Well. {turned}{EXAM}"


def test_a_symptom_of_two_sentences_is_neither_turned_nor_removed() -> None:
    found = edits(f"No cough. Denies cough.{EXAM}", ("cough", "No cough"), ("cough", "Denies cough"))
    assert set(found) == {"unchanged", "condition added"}


@pytest.mark.parametrize(
    ("reading", "low", "high"),
    [
        ("Temp 36.8 C", 39.0, 39.8),
        ("T 38.9°C, fever", 36.4, 36.9),
        ("Temperature 98.2 F", 102.2, 103.7),
    ],
)
def test_a_temperature_is_moved_to_the_other_side_of_fever(reading: str, low: float, high: float) -> None:
    note = f"{reading}.{EXAM}"
    changed = edits(note, *([("fever", "fever")] if "fever" in reading else []))["temperature changed"]
    (value,) = re.findall(r"\d+\.\d|\d{2,}", changed)
    assert low <= float(value) <= high
    assert changed.replace(value, re.findall(r"\d+\.\d", reading)[0]) == note


@pytest.mark.parametrize("text", ["Seen at 38 C street", "Weight 38.5 kg", "pulse 98"])
def test_other_numbers_are_no_temperatures(text: str) -> None:
    assert "temperature changed" not in edits(
        f"{'Came by bus and then walked some more of the way. ' * 2}{text}.{EXAM}"
    )


@pytest.mark.parametrize(
    ("words", "level"),
    [
        ("fever of 38.5 C", "low"),
        ("fever of 38.6 C", "high"),
        ("high fever", "high"),
        ("fever of 101.4 F", "low"),
        ("fever of 101.6 F", "high"),
        ("no fever", "none"),
    ],
)
def test_the_level_of_a_fever_is_read_off_words_and_numbers(words: str, level: str) -> None:
    assert wanted_states(words, [SymptomSpan("fever", 0, len(words))]) == {"fever": level}


def test_an_added_condition_is_new_and_ends_the_history() -> None:
    note = f"Has asthma, smokes. COPD, seasonal allergy.{EXAM}"
    assert "condition added" not in edits(note), "a note without symptoms gets only conditions of the network"
    added = edits(f"A cough.{EXAM}", ("cough", "cough"))["condition added"]
    assert added.startswith("A cough. ") and added.endswith(EXAM) and len(added) > len(EXAM) + 20
    assert "condition added" not in edits("A cough.", ("cough", "cough")), "no examination, no end of the history"


def test_settings_are_chosen_on_other_notes(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "The patient has a fever. Denies cough at rest or during exercise."

    def noted(record: int, *phrases: tuple[str, str]) -> RealNote:
        spans = tuple(SymptomSpan(s, text.index(words), text.index(words) + len(words)) for s, words in phrases)
        return RealNote(record, dict.fromkeys(("normal", "compact"), text), dict.fromkeys(("normal", "compact"), spans))

    fever = ("fever", "patient has a fever")
    notes = [noted(record, fever, ("cough", "Denies cough")) for record in range(3)]
    notes.append(noted(3, fever, ("cough", "Denies cough at rest or during exercise")))
    rows = span_cross_validation.cross_validated(notes, folds=4, seed=7).set_index(["condition", "item", "metric"])
    # with its own reference the last note would be scored 1; the others choose short denials, which it has not
    assert rows.loc[("normal, 4 folds", "span_iou_0.5", "f1"), "value"] == pytest.approx(7 / 8)
