"""Clinicians' revisions of questions are checked, applied and counted; the user's MIMIC-IV notes are read."""

import asyncio
import gzip
import json
import re

import pandas as pd
import pytest

from flows.engine.params import load_params
from flows.engine.tables import check
from flows.stages import note_qa_outside
from schemas.errors import SourceError
from schemas.tables.metrics import METRICS
from schemas.tables.note_qa import PATIENT_NOTES, QUESTIONS
from tasks.evaluation.note_qa.mimic import discharge_file, read_patients, read_questions, sample_patients
from tasks.evaluation.note_qa.question_review import (
    CATEGORIES,
    FORMAT,
    count_revisions,
    form_id,
    read_question_reviews,
    render_question_form,
    review_counts,
    revise,
)
from tests.support.imports import ROOT
from tests.support.memory_stage import MemoryStage
from tests.support.qa import PARAMS, questions_by_hand


def _review(rater: str = "a", **changes) -> dict:
    questions = questions_by_hand()
    rows = [
        {"record": q, "decision": "keep", "wording": w, "choices": json.loads(c), "answer": a}
        for q, w, c, a in questions[["question", "wording", "choices", "answer"]].itertuples(index=False)
    ]
    return {"format": FORMAT, "form": form_id(questions), "rater": rater, "questions": rows} | changes


def _read(*files: dict):
    return read_question_reviews({f"{i}.json": json.dumps(f) for i, f in enumerate(files)}, questions_by_hand())


def test_revisions_are_counted_as_the_paper_counts_them_and_applied():
    file = _review()
    first, second, third = file["questions"]
    first["decision"] = "remove"
    second["wording"] = "What does the last note say of cough?"
    second["choices"][0] = "Dry cough at night"  # A is right
    third["choices"][3] = "No cough this year"
    third["choices"][4] = "No fever this year"
    reviews = _read(file)
    questions = questions_by_hand()
    assert count_revisions(questions, reviews) == {
        "reviewed": 3,
        "removed": 1,
        "questions_revised": 1,
        "right_choices_revised": 1,
        "distractors_revised": 2,
    }
    revised = check(revise(questions, reviews), QUESTIONS, "revised")
    assert list(revised["question"]) == ["p1/generated/2", "p2/generated/1"]
    assert revised["wording"].iloc[0] == "What does the last note say of cough?"
    rows = check(review_counts(questions, reviews, seed=1, provenance="p"), METRICS, "counts")
    assert set(rows["n"]) == {len(questions)} and not rows["unscored"].any()


def test_taking_another_choice_for_the_right_one_revises_the_answer_and_one_distractor():
    file = _review()
    file["questions"][0]["answer"] = "B"
    counts = count_revisions(questions_by_hand(), _read(file))
    assert (counts["right_choices_revised"], counts["distractors_revised"]) == (1, 1)


def test_questions_that_nobody_reviewed_stay():
    file = _review()
    file["questions"] = file["questions"][:1]
    assert len(revise(questions_by_hand(), _read(file))) == 3
    assert len(revise(questions_by_hand(), {})) == 3


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda f: f["questions"][0].update(record="p9"), "unknown question p9"),
        (lambda f: f["questions"].append(f["questions"][0]), "in the file twice"),
        (lambda f: f["questions"][0]["choices"].__setitem__(0, " "), "choices are empty or the same"),
        (lambda f: f["questions"][0].update(answer="F"), "not a file of the question form (questions.0.answer"),
        (lambda f: f.update(form="0" * 12), "was filled in for questions 000000000000"),
        (lambda f: f.update(format="other"), "expected 'vignette-questions'"),
    ],
)
def test_a_damaged_file_is_refused_by_name(damage, message):
    file = _review()
    damage(file)
    with pytest.raises(SourceError, match=re.escape(message)):
        _read(file)


def test_two_files_may_share_a_question_only_when_they_agree():
    other = _review("b")
    assert len(_read(_review(), other)) == 3
    other["questions"][1]["wording"] = "Another question?"
    with pytest.raises(SourceError, match="another file revises it differently"):
        _read(_review(), other)


def test_the_question_form_holds_the_notes_and_nothing_from_outside():
    notes = pd.DataFrame(
        [(p, "normal", 0, p, "2024-01-02", "<b>note</b>", 3) for p in ("p1", "p2")],
        columns=["patient", "version", "position", "note_id", "date", "note", "tokens"],
    )
    html = render_question_form(questions_by_hand(), notes, "a")
    assert "<b>note" not in html and "\\u003cb\\u003enote" in html
    assert not re.findall(r"(?:src|href)\s*=\s*[\"'](?:https?:)?//", html)


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
    with pytest.raises(SourceError, match=r"EHRNoteQA.jsonl, line 1: not a question"):
        read_questions(mimic / "EHRNoteQA.jsonl", notes, PARAMS)
    (mimic / "bad.csv").write_text("a,b\n1,2\n")
    with pytest.raises(SourceError, match=r"columns .* are missing"):
        read_patients(mimic / "bad.csv", PARAMS)
    assert discharge_file(None) is None


@pytest.mark.parametrize("whose", ["EHRNoteQA", "annotator"])
def test_a_users_own_notes_are_asked_about_with_ehrnoteqas_questions_or_newly_written_ones(mimic, tmp_path, whose):
    folder = tmp_path / "sources" / "ehrnoteqa"
    folder.mkdir(parents=True)
    note = "**History**\nDry cough for {} days, no fever.\n\n**Physical Examination**\nTemperature {} °C. Lungs clear."
    rows = [(1, 10 + i, f"2150-0{i + 1}-01 00:00:00", note.format(3 + i, 36.8 + i)) for i in range(2)]
    pd.DataFrame(rows, columns=["subject_id", "hadm_id", "charttime", "text"]).to_csv(
        folder / "discharge.csv", index=False
    )
    if whose == "EHRNoteQA":
        (mimic / "EHRNoteQA.jsonl").rename(folder / "EHRNoteQA.jsonl")
    stage = MemoryStage(load_params(ROOT / "params.yaml"), tmp_path)
    stage.sources = folder.parent
    asyncio.run(note_qa_outside.run(stage))
    table = check(stage.tables["note_qa_outside"], METRICS, "metrics")
    assert (table["stage"] == "note_qa_outside").all()
    assert set(table.loc[table["metric"] == "score", "n"]) == {1}
    assert ("annotator" in stage.asked) == (whose == "annotator")


def test_categories_are_shares_of_the_kept_questions_that_have_one():
    file = _review()
    first, second, third = file["questions"]
    first["decision"], first["category"] = "remove", CATEGORIES[0]
    second["category"], third["category"] = CATEGORIES[0], CATEGORIES[1]
    rows = review_counts(questions_by_hand(), _read(file), seed=1, provenance="p")
    found = rows[rows["metric"] == "category_share"].set_index("item")
    assert found["value"].to_dict() == {one: 0.5 if one in CATEGORIES[:2] else 0 for one in CATEGORIES}
    assert set(found["n"]) == {2} and set(rows["condition"]) == {"generated"}
    third["category"] = second["category"] = ""
    rows = review_counts(questions_by_hand(), _read(file), seed=1, provenance="p")
    assert "category_share" not in set(rows["metric"])
