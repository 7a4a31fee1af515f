"""Phrases that lost symbols, spaces or hyphens: which places of a note they still name."""

import pytest

from tests.support.cases import from_table
from tests.support.phrases import match_phrase


def found(phrase: str, note: str) -> str | None:
    match = match_phrase(note, phrase)
    return None if match is None else note[match.start : match.end]


@pytest.mark.parametrize(
    ("phrase", "note", "stretch"),
    [
        ("SpO2 98 on room air", "Today SpO2 98% on room air, no fever.", "SpO2 98% on room air"),
        ("98 on air", "SpO2 98% on air", "98% on air"),
        ("temp 38.5 at home", "A temp 38.5° at home, 37° here.", "temp 38.5° at home"),
    ],
)
def test_a_phrase_without_a_symbol_of_the_note_is_found_up_to_its_last_word(phrase: str, note: str, stretch: str):
    assert found(phrase, note) == stretch


def test_symbols_of_a_phrase_must_be_in_the_note_in_their_order():
    note = "Wheeze ↑ at night ↓ by day."
    assert found("Wheeze ↑ at night by day", note) == "Wheeze ↑ at night ↓ by day"
    assert found("Wheeze at night ↓ by day", note) == "Wheeze ↑ at night ↓ by day"
    assert found("Wheeze ↓ at night ↑ by day", note) is None


@from_table
def test_words_are_not_joined_or_split_where_that_changes_the_meaning(phrase: str, note: str):
    assert found(phrase, note) is None


@pytest.mark.parametrize(
    ("phrase", "note", "stretch"),
    [
        ("shortnessof breath", "Has shortness of breath.", "shortness of breath"),
        ("short ness of breath", "Has shortness of breath.", "shortness of breath"),
        ("took 5mg at night", "She took 5 mg at night.", "took 5 mg at night"),
    ],
)
def test_lost_and_added_spaces_between_longer_parts_do_not_matter(phrase: str, note: str, stretch: str):
    assert found(phrase, note) == stretch


def test_letters_that_occur_twice_name_no_place():
    assert found("shortnessof breath", "No shortness of breath now. Shortness of breath at night.") is None


@pytest.mark.parametrize("phrase", ["NO COUGH)", "(NO COUGH", "( No cough )"])
def test_half_a_bracket_of_a_phrase_that_is_not_verbatim_is_completed(phrase: str):
    assert found(phrase, "Seen today (no cough) and well.") == "(no cough)"


def test_a_bracket_without_its_other_half_is_left_out():
    assert found("No cough)", "Seen today: no cough and well.") == "no cough"
