"""Span agreement checked by hand, and rates of verdicts."""

import pandas as pd
import pytest

from tasks.evaluation.annotator.consistency_checks import verdict_rows
from tasks.evaluation.annotator.quality import (
    SymptomSpan,
    absent_row,
    f1,
    matched,
    span_counts,
    states,
    whole_sentences,
)
from tasks.evaluation.annotator.scripted_edits import edited_notes, wanted_states


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
