"""Defects that a physician would notice do not occur in simulated notes: repetition, agreement, contradiction."""

import re
from collections import Counter

import pytest

from flows.engine.simulated_truth import GoldNotes, write_gold
from tasks.domains.rules import load_rules
from tasks.notes.prompting import build_prompts
from tasks.simulator.truth import truth
from tests.simulator.test_writer import NO_ERRORS, request, symptom_prompt
from tests.support.records import PARENTS, random_records

AGREEMENT = (
    r"\b[Tt]here (?:is|was) (?:also )?(?:nasal symptoms|breathing difficulties|high temperatures)\b",
    r"\b(?:[Tt]hey|and they) (?:\w+ly )?(?:is|has|was|reports|notes|denies|mentions|works)\b",
    r"\b(?:food|medication|syrup|gel|cream) have given\b",
    r"\bNo (?:vesicles|plaques|crusts|rashes) (?:is|was)\b",
    r"\bno any\b",
    r"\ba (?:once or twice|repeatedly) a night\b",
)
WORK = r"\bworks? (?:as|in|on|for|at)\b"
"""A job: "works as a teacher", "work in an office"."""


@pytest.fixture(scope="module")
def notes() -> GoldNotes:
    return write_gold(build_prompts(random_records(250, seed=8), PARENTS, load_rules(), seed=9))


def sentences(text: str) -> list[str]:
    return [part for part in re.split(r"(?<=[.!?])\s+|\n", text) if part]


def repeated(sentence: str, size: int) -> bool:
    words = re.findall(r"[a-z0-9'/-]+", sentence.lower())
    runs = Counter(tuple(words[at : at + size]) for at in range(len(words) - size + 1))
    return any(count > 1 for count in runs.values())


@pytest.mark.parametrize("version", ["normal", "compact"])
def test_no_phrase_is_written_twice_in_a_sentence(notes: GoldNotes, version: str) -> None:
    for known in notes.version(version).values():
        for sentence in sentences(known.text):
            assert not repeated(sentence, 5), sentence
            assert not re.search(r"\b([A-Za-z]{3,}) \1\b", sentence), sentence


def test_no_sentence_is_written_twice_in_a_note(notes: GoldNotes) -> None:
    for known in notes.normal.values():
        listed = [sentence.lower() for sentence in sentences(known.text)]
        assert len(set(listed)) == len(listed), known.text


def test_a_sentence_has_one_adverbial_of_the_examination(notes: GoldNotes) -> None:
    for known in notes.normal.values():
        assert not re.search(r"\b[OoUu]p?on (?:physical )?examination, (?:on|upon|at|during)\b", known.text), known.text
        assert len(re.findall(r"\b[Uu]?p?on (?:physical )?examination,", known.text.lower())) <= 2, known.text


def test_verbs_agree_with_their_subjects(notes: GoldNotes) -> None:
    for known in notes.normal.values():
        for pattern in AGREEMENT:
            assert not re.search(pattern, known.text), (pattern, known.text)


def test_a_patient_has_one_job(notes: GoldNotes) -> None:
    for known in notes.normal.values():
        assert len(re.findall(WORK, known.text)) <= 1, known.text


def test_symptoms_are_denied_by_or(notes: GoldNotes) -> None:
    for known in notes.normal.values():
        for span in known.spans:
            assert span.present or not re.search(r"^(?:denies|no|without)\b.* and (?:fever|cough|dyspnea)$", span.text)


def test_a_visit_without_a_complaint_has_no_worry_about_one() -> None:
    prompt = symptom_prompt("cough: no", avoid=("dyspnea", "fever"))
    for seed in range(60):
        (known,) = truth(request(prompt, seed), NO_ERRORS)
        history = known.text.split("**Physical Examination**")[0]
        history = history.split(". ", 1)[1] if ". " in history else ""  # the reason for the visit may be a worry
        assert not re.search(r"can be done|worr(?:y|ies|ied)|getting worse|improv", history), history


def test_shorthand_keeps_sentences_whole(notes: GoldNotes) -> None:
    for known in notes.compact.values():
        assert not re.search(
            r"\b[Nn]otes denies|[Rr]eports denies|wants to chest|(?<!\d )\b(?:week|month|year) ago", known.text
        )
        assert not re.search(r"reflexes and equal|stools day|half pack day", known.text), known.text
