"""Sections, headings and sentences of texts by models and physicians, as the cases of cases.yaml."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from tasks.text.sections import (
    has_both_sections,
    heading_key,
    section_at,
    split_at,
    split_headings,
    split_sections,
)
from tasks.text.sentences import sentence_spans, sentences
from tasks.text.soap import is_heading, split_soap
from tests.support.cases import each, read_cases


def two_sections(history: str, examination: str) -> bool:
    note = f"{history}\nCough.\n\n{examination}\nLungs clear."
    assert [section_at(note, note.index(word)) for word in ("Cough", "Lungs")] == sections(note)
    assert not has_both_sections(f"{history}\nCough.")
    return has_both_sections(note) and sections(note) == ["history", "physical_examination"]


def sections(note: str) -> list[str]:
    return [section.name for section in split_sections(note)]


FORMS = {
    "is_plan": lambda line: split_headings(f"Cough.\n{line}\nRest.") == {"opening": "Cough.", "plan": "Rest."},
    "headings": split_headings,
    "given_headings": split_at,
    "soap": split_soap,
    "soap_heading": is_heading,
    "two_sections": two_sections,
    "sections": sections,
    "sentences": sentences,
}


@each("form, given, expected", read_cases(Path(__file__).with_name("cases.yaml")))
def test_a_text_is_read(form: str, given: list, expected: object) -> None:
    assert FORMS[form](*given) == expected
    assert heading_key("## Assessment & Plan:") == "assessment and plan"


@given(st.text(st.sampled_from("History:*#\n Physical Exam-"), max_size=80))
def test_sections_cover_the_note_in_order(note: str) -> None:
    found = split_sections(note)
    ends = [0, *(section.end for section in found)]
    assert all(before <= section.start <= section.end for before, section in zip(ends, found, strict=False))
    assert ends[-1] == len(note)


@given(st.text(max_size=60))
def test_sentences_are_in_order_and_cover_every_letter(text: str) -> None:
    spans = sentence_spans(text)
    assert all(start < end for start, end in spans) and spans == sorted(spans)
    outside = "".join(c for i, c in enumerate(text) if not any(start <= i < end for start, end in spans))
    assert not outside.strip()
