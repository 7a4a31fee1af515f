"""Agreement of spans checked by hand."""

import numpy as np
import pandas as pd
import pytest

from tasks.judges.span_agreement import (
    Counts,
    RealNote,
    SymptomSpan,
    absent_row,
    agreement,
    agreement_rows,
    agreement_table,
    cross_validated,
    f1,
    matched,
    overlap,
    state_counts,
    states,
    token_counts,
    whole_sentences,
)
from tasks.statistics.intervals import ratio_interval
from tests.support.cases import from_table


def test_spans_pair_one_to_one() -> None:
    reference = [SymptomSpan("cough", 0, 10), SymptomSpan("cough", 20, 30)]
    assert matched([SymptomSpan("cough", 0, 5), SymptomSpan("cough", 0, 10)], reference, 0.5) == 1
    assert matched([SymptomSpan("fever", 0, 10)], reference, 0.5) == 0
    # Greedy matching in order would assign the second prediction's only match to the first.
    predicted = [SymptomSpan("cough", 0, 12), SymptomSpan("cough", 0, 10)]
    both = [SymptomSpan("cough", 0, 10), SymptomSpan("cough", 0, 16)]
    assert matched(predicted, both, 0.6) == 2


def test_states_are_read_off_the_words() -> None:
    note = "No cough, fever present. Reports dyspnea but denies fever. afebrile"
    spans = [SymptomSpan("cough", 0, 8), SymptomSpan("dyspnea", 25, 40), SymptomSpan("fever", 59, 67)]
    assert states(note, spans) == {"cough": "absent", "dyspnea": "present", "fever": "absent"}


def test_comparison_annotator_marks_whole_sentences() -> None:
    assert whole_sentences("No cough. All well.") == [SymptomSpan("cough", 0, 9)]


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
    rows = agreement_rows("a", "normal", {"token": counts}, seed=1, provenance="p").set_index("metric")["value"]
    assert rows[["precision", "recall", "f1"]].tolist() == pytest.approx([2 / 3, 2 / 4, 4 / 7])
    assert f1(counts) == pytest.approx(4 / 7) and np.isnan(f1([Counts(0, 0, 0)]))
    assert state_counts({"cough": "present", "fever": "absent"}, {"cough": "present", "fever": "present"}) == Counts(
        1, 2, 2
    )


@from_table
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
    values = rows.set_index("metric")[["value", "n", "unscored"]]
    assert values.loc[["recall", "precision"]].to_numpy().tolist() == [[0.5, 3, 2], [1, 3, 2]]
    assert values.loc["f1", "value"] == pytest.approx(2 / 3)
    assert rows.set_index("metric").loc["precision", ["low", "high"]].tolist() == [
        *ratio_interval([1] * 3, [1] * 3)[1:]
    ]


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


def test_settings_are_chosen_on_other_notes() -> None:
    text = "The patient has a fever. Denies cough at rest or during exercise."

    def noted(record: int, *phrases: tuple[str, str]) -> RealNote:
        spans = tuple(SymptomSpan(s, text.index(words), text.index(words) + len(words)) for s, words in phrases)
        return RealNote(record, dict.fromkeys(("normal", "compact"), text), dict.fromkeys(("normal", "compact"), spans))

    fever = ("fever", "patient has a fever")
    notes = [noted(record, fever, ("cough", "Denies cough")) for record in range(3)]
    notes.append(noted(3, fever, ("cough", "Denies cough at rest or during exercise")))
    rows = cross_validated(notes, folds=4, seed=7).set_index(["condition", "item", "metric"])
    # with its own reference the last note would be scored 1; the others choose short denials, which it has not
    assert rows.loc[("normal, 4 folds", "span_iou_0.5", "f1"), "value"] == pytest.approx(7 / 8)
