"""For any note and phrase, a match is a stretch of the note with the phrase's words."""

import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.spans.matching import ELISION, match_phrases
from tasks.spans.search import forms, tokenize
from tests.support.phrases import match_phrase

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


@settings(max_examples=300, deadline=None)
@given(NOTES, NOTES)
def test_notes_and_phrases_of_clinical_pieces(note: str, phrase: str):
    check(note, phrase)


@settings(max_examples=300, deadline=None)
@given(ANY, ANY)
def test_any_text(note: str, phrase: str):
    check(note, phrase)


@settings(max_examples=300, deadline=None)
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
