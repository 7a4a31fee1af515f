"""Scripted edits of notes make the named change, and only that."""

import re
from collections.abc import Sequence

import pytest

from tasks.domains.rules import load_rules
from tasks.judges.scripted_edits import edited_notes, wanted_states
from tasks.judges.span_agreement import RealNote, SymptomSpan
from tests.support.cases import from_table

RULES = load_rules()


def real(note: str, spans: Sequence[SymptomSpan]) -> RealNote:
    """A published note with its spans; edits are of the normal version."""
    return RealNote(1, {"normal": note, "compact": ""}, {"normal": tuple(spans), "compact": ()})


def test_edits_make_the_named_change() -> None:
    note = (
        "**History**\nThe patient has asthma and reports a cough. The patient denies fever.\n\n"
        "**Physical Examination**\nTemperature 36.8°C. Lungs clear."
    )
    spans = [SymptomSpan("cough", note.index("a cough"), note.index("a cough") + 7)]
    spans.append(SymptomSpan("fever", note.index("denies fever"), note.index("denies fever") + 12))
    assert wanted_states(note, spans) == {"cough": "yes", "fever": "none"}
    edits = edited_notes([real(note, spans)], RULES, seed=3)
    kinds = {one.kind: one.note for one in edits}
    assert set(kinds) == {"none", "negation turned", "temperature changed", "sentence removed", "condition added"}
    assert "reports fever" in kinds["negation turned"]
    assert "36.8" not in kinds["temperature changed"]
    assert len(kinds["sentence removed"]) < len(note) < len(kinds["condition added"])
    assert edits == edited_notes([real(note, spans)], RULES, seed=3)
    (instructions,) = {one.instructions for one in edits}
    assert "asthma" in instructions and "fever" in instructions


def test_the_information_on_a_note_that_states_nothing_denies_all_symptoms_and_conditions() -> None:
    note = "**History**\nThe patient asks for a form.\n\n**Physical Examination**\nLungs clear. Heart regular."
    (instructions,) = {one.instructions for one in edited_notes([real(note, [])], RULES, seed=3)}
    symptoms, conditions = instructions.split("any of these health conditions, so do not mention them")
    assert "does not have any of these symptoms" in symptoms and "\n- cough\n" in symptoms
    assert "\n- asthma" in conditions


def test_a_note_that_states_a_symptom_alone_is_asked_about_no_condition() -> None:
    note = "**History**\nThe patient has a cough.\n\n**Physical Examination**\nLungs clear."
    spans = [SymptomSpan("cough", note.index("a cough"), note.index("a cough") + 7)]
    (instructions,) = {one.instructions for one in edited_notes([real(note, spans)], RULES, seed=3)}
    assert "cough" in instructions and "any of these health conditions" not in instructions


def edits(note: str, *phrases: tuple[str, str], seed: int = 1) -> dict[str, str]:
    """The note after each kind of edit; spans are given by symptom and phrase."""
    spans = [SymptomSpan(symptom, note.index(text), note.index(text) + len(text)) for symptom, text in phrases]
    return {one.kind: one.note for one in edited_notes([real(note, spans)], RULES, seed=seed)}


EXAM = "\n\nPhysical Examination\nLungs clear."


@from_table
def test_a_statement_is_turned_into_its_opposite(sentence: str, turned: str) -> None:
    assert edits(f"Well. {sentence}{EXAM}", ("cough", sentence[:-1]))["negation turned"] == f"Well. {turned}{EXAM}"


def test_a_symptom_of_two_sentences_is_neither_turned_nor_removed() -> None:
    found = edits(f"No cough. Denies cough. Asthma.{EXAM}", ("cough", "No cough"), ("cough", "Denies cough"))
    assert set(found) == {"none", "condition added"}


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


@from_table
def test_the_level_of_a_fever_is_read_off_words_and_numbers(words: str, level: str) -> None:
    assert wanted_states(words, [SymptomSpan("fever", 0, len(words))]) == {"fever": level}


def test_an_added_condition_is_new_and_ends_the_history() -> None:
    note = f"Has asthma, smokes. COPD, seasonal allergy.{EXAM}"
    assert "condition added" not in edits(note), "a note without symptoms gets only conditions of the network"
    added = edits(f"A cough, asthma.{EXAM}", ("cough", "cough"))["condition added"]
    assert added.startswith("A cough, asthma. ") and added.endswith(EXAM) and len(added) > len(EXAM) + 30
    assert "condition added" not in edits(f"A cough.{EXAM}", ("cough", "cough")), "no list of conditions, no other one"
    assert "condition added" not in edits("A cough, asthma.", ("cough", "cough")), (
        "no examination, no end of the history"
    )
