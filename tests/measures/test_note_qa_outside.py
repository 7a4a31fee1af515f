"""The user's MIMIC-IV notes and EHRNoteQA's questions on them are read."""

import gzip
import json

import pandas as pd
import pytest

from flows.runtime.tables import check
from schemas.errors import SourceError
from schemas.tables.note_qa import PATIENT_NOTES, QUESTIONS
from tasks.measures.note_qa.questions import discharge_file, read_patients, read_questions, sample_patients
from tests.support.qa import PARAMS


@pytest.fixture
def mimic(tmp_path):
    """A MIMIC-IV folder with made-up notes."""
    rows = [
        (1, 11, "2150-05-01 00:00:00", "Later  note\n\n about a   cough."),
        (1, 10, "2150-01-01 00:00:00", "First note."),
        (2, 20, "2151-01-01 00:00:00", "word " * 4000),
        *[(3, 30 + i, f"2152-0{i + 1}-01 00:00:00", "One of many.") for i in range(4)],
    ]
    table = pd.DataFrame(rows, columns=["subject_id", "hadm_id", "charttime", "text"])
    with gzip.open(tmp_path / "discharge.csv.gz", "wt") as file:
        table.assign(note_id="x").to_csv(file, index=False)
    question = {"patient_id": 1, "category": "Level1", "num_notes": 2, "question": "Cough?", "answer": "C"}
    question |= {f"choice_{letter}": f"choice {letter}" for letter in "ABCDE"}
    lines = [question, question | {"patient_id": 99}]
    (tmp_path / "EHRNoteQA.jsonl").write_text("\n".join(map(json.dumps, lines)) + "\n")
    return tmp_path


def test_a_users_own_discharge_table_gives_patients_of_up_to_three_notes_in_order(mimic):
    notes = check(read_patients(discharge_file(mimic), PARAMS), PATIENT_NOTES, "notes")
    assert set(notes["patient"]) == {"1", "2"}  # patient 3 has four notes
    assert list(notes.query("patient == '1'")["note"]) == ["First note.", "Later note\nabout a cough."]
    assert list(notes.query("patient == '1'")["date"]) == ["2150-01-01", "2150-05-01"]
    sampled = sample_patients(notes, PARAMS, seed=1)
    assert set(sampled["patient"]) == {"1", "2"}


def test_ehrnoteqa_questions_join_their_patients_notes(mimic):
    notes = read_patients(discharge_file(mimic), PARAMS, {"1", "99"})
    questions = check(read_questions(mimic / "EHRNoteQA.jsonl", notes, PARAMS), QUESTIONS, "questions")
    assert list(questions["patient"]) == ["1"] and questions["answer"].iloc[0] == "C"
    assert (questions["notes"].iloc[0], questions["level"].iloc[0]) == (2, 1)


def test_malformed_outside_data_is_refused_with_its_place(mimic):
    (mimic / "EHRNoteQA.jsonl").write_text('{"patient_id": 1}\n')
    notes = read_patients(discharge_file(mimic), PARAMS)
    with pytest.raises(SourceError, match=r"EHRNoteQA.jsonl: line 1: not a question"):
        read_questions(mimic / "EHRNoteQA.jsonl", notes, PARAMS)
    (mimic / "bad.csv").write_text("a,b\n1,2\n")
    with pytest.raises(SourceError, match=r"columns .* are missing"):
        read_patients(mimic / "bad.csv", PARAMS)
    assert discharge_file(None) is None
