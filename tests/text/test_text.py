"""Texts are cut into sections and sentences, and their language is recognised."""

import json
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.text.language import FUNCTION_WORDS, foreign_language, foreign_texts
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
from tests.support.sources import needs_sources, sources_folder


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


FOREIGN = {
    "German": "Der Patient klagt seit drei Tagen über Husten und hat keine Schmerzen in der Brust.",
    "French": "Le patient tousse depuis trois jours, sans fièvre, et ne se plaint pas de douleurs dans la poitrine.",
    "Spanish": "El paciente tiene tos desde hace tres días, sin fiebre, y no refiere dolor en el pecho.",
    "Italian": "Il paziente ha tosse da tre giorni, senza febbre, e non riferisce dolore alla gamba.",
    "Portuguese": "O paciente tem tosse há três dias, sem febre, e não refere dor no peito com a respiração.",
    "Dutch": "De patiënt hoest sinds drie dagen, heeft geen koorts en ook geen pijn bij het ademen.",
    "another script": "患者は三日前から咳があり、熱はない。",
}


@pytest.mark.parametrize("language", FOREIGN)
def test_a_sentence_is_recognised(language: str) -> None:
    assert foreign_language(FOREIGN[language]) == language


@pytest.mark.parametrize(
    "text",
    ["", "38.5 °C", "Pt c/o dry cough x3d, no F/C. CTA b/l.", "Dx: COPD. Rx: prednisone 40 mg po qd. F/u 2/52.",
     "Husten.",
     "The patient, Mr. de la Cruz from Los Angeles, takes no drugs and has no fever."],
)  # fmt: skip
def test_english_and_what_is_too_short_to_tell_is_not_named(text: str) -> None:
    assert foreign_language(text) is None


def test_three_function_words_are_enough_and_two_are_not() -> None:
    words = FUNCTION_WORDS["German"].split()
    assert foreign_language(f"Husten {' '.join(words[:3])}") == "German"
    assert foreign_language(f"Husten {' '.join(words[:2])}") is None
    assert foreign_language(f"{' '.join(words[:5])} the of") == "German"
    assert foreign_language(f"{' '.join(words[:4])} the of") is None, "half as many of English are too many"


@needs_sources
def test_no_published_english_text_is_taken_for_another_language() -> None:
    aci = pd.concat([pd.read_csv(sources_folder() / "aci_bench" / f"{name}.csv") for name in ("test1", "train")])
    notes = (sources_folder() / "simsum" / "real_notes_50.jsonl").read_text(encoding="utf-8").splitlines()
    texts = [
        *aci["dialogue"],
        *aci["note"],
        *(json.loads(line)[name] for line in notes for name in ("normal", "compact")),
    ]
    assert len(texts) >= 300
    assert foreign_texts((str(number), text) for number, text in enumerate(texts)) == {}
