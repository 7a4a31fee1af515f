"""The clinical lexicon: findings in a note, and their polarity."""

import pytest

from tasks.simulator.clinical import abbreviations, demographics, findings, temperature
from tasks.simulator.clinical.descriptors import known, says
from tests.support import negex
from tests.support.sources import needs_sources, real_notes


def polarities(text: str, category: str = "symptom") -> dict[str, str]:
    return {f.concept: f.polarity for f in findings.find(text) if f.category == category}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Denies cough, fever, or shortness of breath.", {"cough": "absent", "fever": "absent", "dyspnea": "absent"}),
        ("The patient has a dry cough but no fever.", {"cough": "present", "fever": "absent"}),
        ("No cough. Reports SOB x 3 d.", {"cough": "absent", "dyspnea": "present"}),
        ("There is no cough, and the patient has had a runny nose.", {"cough": "absent", "nasal symptoms": "present"}),
        ("The cough is not relieved by syrup.", {"cough": "present"}),
        ("No improvement of the cough has been seen.", {"cough": "present"}),
        ("Coughing has been notably absent.", {"cough": "absent"}),
        ("Has not experienced shortness of breath.", {"dyspnea": "absent"}),
        ("The patient is afebrile, breathing comfortably.", {"fever": "absent", "dyspnea": "absent"}),
        ("The patient needs three pillows to sleep.", {"dyspnea": "present"}),
        ("Over-the-counter cough medicine was tried.", {}),
        ("Lower back pain for a week. The pain does not radiate.", {}),
        ("A non-productive cough.", {"cough": "present"}),
        ("There was no rise in temperature.", {"fever": "absent"}),
        ("Cough: none. Fever: denied.", {"cough": "absent", "fever": "absent"}),
        ("No f/c, CP, SOB.", {"fever": "absent", "respiratory pain": "absent", "dyspnea": "absent"}),
        ("NAD, afeb.", {"fever": "absent"}),
        ("The patient has not had a temperature.", {"fever": "absent"}),
        ("The pain sits on the left side of the chest.", {"respiratory pain": "present"}),
        ("The airways feel raw and sore.", {"respiratory pain": "present"}),
        ("A feeling of tightness when breathing.", {"dyspnea": "present"}),
        ("The patient struggles for breath.", {"dyspnea": "present"}),
        ("The nasal passages feel blocked.", {"nasal symptoms": "present"}),
        ("No distress, and low-grade fever is confirmed.", {"fever": "present"}),
        ("Pt c/o prod. cough, w/o SOB/CP.", {"cough": "present", "dyspnea": "absent", "respiratory pain": "absent"}),
    ],
)
def test_polarity_follows_the_coordination(text: str, expected: dict[str, str]) -> None:
    assert polarities(text) == expected


def test_findings_of_others_and_hypotheticals_are_not_the_patients() -> None:
    assert all(f.other for f in findings.of("The partner had a cough.", "cough"))
    assert [f.polarity for f in findings.of("Return if a fever develops.", "fever")] == ["uncertain"]


def test_conditions_and_diagnoses() -> None:
    assert polarities("History of asthma; never smoked. No COPD.", "condition") == {
        "asthma": "present",
        "smoking": "absent",
        "COPD": "absent",
    }
    assert polarities("Findings suggest pneumonia.", "diagnosis") == {"pneumonia": "uncertain"}
    assert polarities("Suffers from hay fever.") == {}


@pytest.mark.parametrize(
    ("text", "celsius", "level"),
    [
        ("T 38.2", 38.2, "low"),
        ("Temp 101.3 °F", 38.5, "low"),
        ("temperature of 39.4°C", 39.4, "high"),
        ("Temperature: 98.6", 37.0, "none"),
        ("mild fever between 99.5°F (37.5°C) and 100.4°F (38°C)", 38.0, "low"),
    ],
)
def test_temperatures_are_read_in_both_units(text: str, celsius: float, level: str) -> None:
    (reading,) = temperature.find(text)
    assert reading.celsius == pytest.approx(celsius, abs=0.06)
    assert reading.level == level


def test_no_temperature_in_other_numbers() -> None:
    assert not temperature.find("BP 136/98, HR 98 bpm, SpO2 98% on room air, aged 38")


def test_abbreviations_are_written_out() -> None:
    assert len(abbreviations.table()) >= 300
    assert abbreviations.expand("Pt c/o SOB. Denies CP.") == (
        "patient complains of shortness of breath. Denies chest pain."
    )


@pytest.mark.parametrize("text", ["a 34-year-old", "54 y/o", "45M with cough", "an elderly patient", "aged 61"])
def test_age_is_found(text: str) -> None:
    assert "age" in {m.what for m in demographics.find(text)}


def test_sex_is_found_in_the_patient_only() -> None:
    assert {m.what for m in demographics.find("She reports a cough.")} == {"sex"}
    assert not demographics.find("They report that the cough began 34 days ago. MS exam normal.")


def test_every_descriptor_matches_its_wording() -> None:
    # The heads of patterns are the published descriptors (SimSUM, Table 2); each must recognise its own wording.
    assert [name for name in known() if not says(name, name)] == []
    assert says("worse when climbing stairs", "during exercise")
    assert not says("a mild cough", "severe")
    assert says("a barking quality", "barking") and not says("a wet quality", "barking")


def test_negex_judges_the_findings_that_it_is_given() -> None:
    text = "The patient denies cough. Reports a fever."
    assert negex.denied(text, [*findings.of(text, "cough"), *findings.of(text, "fever")]) == [True, False]


@needs_sources
def test_offsets_hold_on_real_notes() -> None:
    for note in real_notes():
        for version in ("normal", "compact"):
            for finding in findings.find(note[version]):
                assert note[version][finding.start : finding.end] == finding.text
