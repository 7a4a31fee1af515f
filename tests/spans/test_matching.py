"""Quotations of an annotator are found in the note, exactly or nearly, whatever was changed in them."""

import time
from pathlib import Path

import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.spans.matching import ELISION, Match, forms, match_phrases, tokenize
from tests.support.cases import each, read_cases
from tests.support.records import match_phrase

NOTE = (
    "**History**\nPatient denies cough, fever (37.2 °C at home), or chest pain. Non-productive cough last year; no "
    "“air\nhunger”. Afebrile since.\n\n**Physical Examination**\nLungs clear – no wheezing. Temp 38.5°C, SpO2 98%. "
    "Afebrile? No: afebrile by touch. ↑ nasal discharge, no cough."
)


def found(phrase: str, note: str = NOTE, *, sure: bool = False) -> str | None:
    match = match_phrase(note, phrase, sure=sure)
    return None if match is None else note[match.start : match.end]


FORMS = {"in_note": found, "found": lambda note, phrase: found(phrase, note)}


@each("form, given, stretch", read_cases(Path(__file__).with_name("cases.yaml")))
def test_a_phrase_is_found_at_its_stretch_or_not(form: str, given: list[str], stretch: str | None):
    assert FORMS[form](*given) == stretch


def test_several_occurrences_are_resolved_in_order_for_each_symptom():
    note = "No cough. No fever. No cough, no dyspnea. No cough."
    phrases = [("cough", "No cough"), ("fever", "No cough"), ("cough", "no cough"), ("cough", "No cough")]
    starts = [m.start for m in match_phrases(note, phrases) if m]
    assert starts == [0, 0, 20, 42]
    assert [m.start for m in match_phrases(note, [("cough", "No cough")] * 4) if m] == [0, 20, 42, 42]


def test_of_several_spellings_none_is_taken_until_the_phrase_was_asked_to_be_exact():
    assert found("AFEBRILE") is None and found("afebrile") is None
    match = match_phrase(NOTE, "afebrile", sure=True)
    assert match and (match.start, match.kind) == (NOTE.index("afebrile"), "exact")
    assert found("AFEBRILE", sure=True) is None
    all_three = match_phrases(NOTE, [("fever", "Afebrile"), ("fever", "afebrile"), ("fever", "AFEBRILE")])
    assert len({m.start for m in all_three if m}) == 3


def test_matches_have_a_kind():
    kinds = [match_phrase(NOTE, p).kind for p in ("Temp 38.5°C", "temp 38.5 °C", "Patient denies ... chest pain")]
    assert kinds == ["exact", "normalised", "elided"]


def test_a_stretch_that_may_end_in_two_places_is_not_guessed():
    note = "Denies fever, cough at night, and pain. Denies swelling and pain."
    assert found("Denies ... pain", note) is None
    assert found("no no ... pain", "no no no more pain") is None  # may begin with either pair
    assert found("Denies fever ... night", note) == "Denies fever, cough at night"


def test_of_overlapping_places_none_is_taken_for_the_other():
    note = "no no no ( no "
    assert match_phrase(note, "no no ( no") is None
    assert match_phrase(note, "no no ( no", sure=True) == Match(3, 13, "exact")
    assert [m.start for m in match_phrases("no no no no", [("cough", "no no")] * 2) if m] == [0, 6]


def test_the_only_stretch_may_extend_over_two_sentences():
    assert found("cough ... clear", "A cough at night. Lungs are clear.") == "cough at night. Lungs are clear"


def test_of_several_stretches_the_only_one_within_a_sentence_is_meant_if_no_other_begins_with_one():
    assert found("the cough ... sleep", "Now the cough is dry. At night the cough disrupts sleep.") == (
        "the cough disrupts sleep"
    )
    assert found("the cough ... sleep", "The cough is dry. At night the cough disrupts sleep.") is None


@each("phrase", ["dry" + " " * 50_000 + "cough", "(" * 50_000 + "...", ". " * 50_000, " (" * 50_000])
def test_a_phrase_of_blanks_and_marks_is_read_in_no_time(phrase: str):
    start = time.process_time()
    match_phrase("dry cough", phrase)
    assert time.process_time() - start < 2


@each("unit", ["a ", "no cough ", "x", "(a+)+$ ", "🤒 ", "… ", ". . . ", "\u0301", "a\u200d"])
def test_a_note_of_fifty_kilobytes_on_one_line_is_searched_in_seconds(unit: str):
    note = "dry cough " + unit * (50_000 // len(unit)) + " severe pain"
    phrases = ["SEVERE, pain", "dry cough", "severe pain", f"{unit * 60}b", "a ... a", "no ... severe", unit * 500]
    start = time.process_time()
    matches = match_phrases(note, [("pain", phrase) for phrase in phrases])
    assert time.process_time() - start < 3
    assert all(match is None or 0 <= match.start < match.end <= len(note) for match in matches)
    assert matches[0] and note[matches[0].start : matches[0].end] == "severe pain"


WORDS = [
    "no",
    "cough",
    "Cough",
    "fever",
    "38.5",
    "a",
    "febrile",
    "afebrile",
    "+",
    "↑",
    "سعال",
    "🤒",
    "é",
    "e\u0301",
    "(",
    ")",
]
SPACES = [" ", "  ", "\n", ", ", ". ", "-", "–", "/", "\u00a0", " ... ", "…", "", "\u200f"]
ANY = st.text(st.characters(), max_size=40)
NOTES = st.lists(st.tuples(st.sampled_from(WORDS), st.sampled_from(SPACES)), max_size=30).map(
    lambda pairs: "".join(word + space for word, space in pairs)
)


def letters(text: str) -> str:
    return "".join(regex.findall(r"[\p{L}\p{N}]", "".join(token.form for token in tokenize(text))))


def check(note: str, phrase: str) -> None:
    match = match_phrase(note, phrase)
    if match is None:
        return
    assert 0 <= match.start < match.end <= len(note)
    stretch = note[match.start : match.end]
    inside = {at for token in tokenize(note) for at in range(token.start + 1, token.end)}
    assert not {match.start, match.end} & inside
    if match.kind == "elided":
        parts = [forms(tokenize(part)) for part in ELISION.split(phrase) if tokenize(part)]
        held = forms(tokenize(stretch))
        assert held[: len(parts[0])] == parts[0] and held[-len(parts[-1]) :] == parts[-1]
    else:
        assert letters(stretch) == letters(phrase)


@settings(max_examples=100, deadline=None)
@given(NOTES, NOTES)
def test_notes_and_phrases_of_clinical_pieces(note: str, phrase: str):
    check(note, phrase)


@settings(max_examples=100, deadline=None)
@given(ANY, ANY)
def test_any_text(note: str, phrase: str):
    check(note, phrase)


@settings(max_examples=100, deadline=None)
@given(NOTES, st.data())
def test_a_stretch_between_word_boundaries_that_occurs_once_is_found_at_its_place(note: str, data: st.DataObject):
    tokens = tokenize(note)
    if not tokens:
        return
    first = data.draw(st.integers(0, len(tokens) - 1))
    last = data.draw(st.integers(first, min(first + 8, len(tokens) - 1)))
    start, end = tokens[first].start, tokens[last].end
    forms = [token.form for token in tokens]
    wanted = forms[first : last + 1]
    places = sum(forms[i : i + len(wanted)] == wanted for i in range(len(forms)))
    match = match_phrase(note, note[start:end])
    if places == 1:
        assert match and (match.start, match.end) == (start, end)
    elif match:
        assert note[match.start : match.end] == note[start:end] or ELISION.search(note[start:end])


@settings(max_examples=100, deadline=None)
@given(NOTES, st.lists(NOTES, max_size=6))
def test_phrases_of_other_symptoms_do_not_affect_matches(note: str, phrases: list[str]):
    together = match_phrases(note, [(str(i), phrase) for i, phrase in enumerate(phrases)])
    assert together == [match_phrase(note, phrase) for phrase in phrases]
