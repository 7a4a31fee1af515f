"""Sections and sentences of notes by models and physicians."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.text.sections import has_both_sections, section_at, split_sections
from tasks.text.sentences import sentence_spans, sentences
from tests.support.sources import needs_sources, real_notes


@pytest.mark.parametrize(
    ("history", "examination"),
    [
        ("**History**", "**Physical Examination**"),
        ("**History:**", "**Physical Examination:**"),
        ("**History**:", "**Physical Exam**:"),
        ("History:", "Physical examination:"),
        ("HISTORY", "PHYSICAL EXAMINATION"),
        ("### History", "### Physical Examination Findings"),
        ("## **History**", "## **Physical Examination**"),
        ("1. History", "2. Physical Examination"),
        ("__History__", "__Physical Examination__"),
        ("*History*", "*Examination*"),
        ("Hx:", "PE:"),
        ("HPI:", "O/E:"),
        ("**History of Present Illness:**", "**Phys. Exam**"),
        ("Subjective:", "Objective:"),
        ("History -", "Exam -"),
        ("History\r", "Physical Examination\r"),
    ],
)
def test_headings(history: str, examination: str):
    note = f"{history}\nCough.\n\n{examination}\nLungs clear."
    assert [section.name for section in split_sections(note)] == ["history", "physical_examination"]
    assert has_both_sections(note)
    assert section_at(note, note.index("Cough")) == "history"
    assert section_at(note, note.index("Lungs")) == "physical_examination"


@pytest.mark.parametrize(
    "line",
    [
        "History of smoking.",
        "Physical therapy helps.",
        "Examination of the chest was normal.",
        "He has a history: long.",
    ],
)
def test_a_sentence_that_begins_like_a_heading_is_none(line: str):
    note = f"**History**\n{line}\n{line}\n\n**Physical Examination**\nLungs clear."
    assert len(split_sections(note)) == 2


def test_text_before_the_first_heading_and_a_note_without_any_are_other():
    assert [s.name for s in split_sections("Seen today.\n**History**\nCough.")] == ["other", "history"]
    assert [s.name for s in split_sections("Cough.")] == ["other"] and section_at("Cough.", 3) == "other"
    assert not has_both_sections("**History**\nCough.")


@given(st.text(st.sampled_from("History:*#\n Physical Exam-"), max_size=80))
def test_sections_cover_the_note_in_order(note: str):
    sections = split_sections(note)
    ends = [0, *(section.end for section in sections)]
    assert all(before <= section.start <= section.end for before, section in zip(ends, sections, strict=False))
    assert ends[-1] == len(note)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Pt in no resp. distress at rest. No fever.", ["Pt in no resp. distress at rest.", "No fever."]),
        ("Lungs clear bilat. No rales.", ["Lungs clear bilat.", "No rales."]),
        ("Temp. 38.5°C this a.m. and 37 now. HR 80.", ["Temp. 38.5°C this a.m. and 37 now.", "HR 80."]),
        ("Seen by Dr. Smith. Cough?\nYes .", ["Seen by Dr. Smith.", "Cough?", "Yes ."]),
        ("Worse on exp. in a.m. . No fever.", ["Worse on exp. in a.m. .", "No fever."]),
        ("", []),
        (" \n ", []),
    ],
)
def test_sentences(text: str, expected: list[str]):
    assert sentences(text) == expected


@given(st.text(max_size=60))
def test_sentences_are_in_order_and_cover_every_letter(text: str):
    spans = sentence_spans(text)
    assert all(start < end for start, end in spans) and spans == sorted(spans)
    outside = "".join(c for i, c in enumerate(text) if not any(start <= i < end for start, end in spans))
    assert not outside.strip()


@needs_sources
def test_real_notes_have_both_sections():
    for note in real_notes():
        for version in ("normal", "compact"):
            assert {s.name for s in split_sections(note[version])} == {"history", "physical_examination"}
            for span in note[f"{version}_spans"]:
                assert section_at(note[version], span["start"]) != "other"
