"""Question answering on the user's MIMIC-IV notes: the stage on invented files."""

import asyncio
import gzip
import json
from pathlib import Path

import pandas as pd
import pytest

from flows.repository.params import load_params
from flows.runtime.tables import check
from flows.stages import note_qa
from schemas.params.llm import Role
from schemas.params.measures import NoteQaOutside
from schemas.tables.note_qa import LETTERS, QUESTIONS
from schemas.tables.verdicts import VERDICTS
from tasks.measures.note_qa.form import CATEGORIES, OutsideQuestionForm
from tasks.measures.note_qa.patients import simulated_patients
from tasks.measures.note_qa.truth_questions import truth_questions
from tasks.papers.printed import items
from tasks.papers.reproduction import PUBLISHED, compared
from tests.support.imports import ROOT
from tests.support.memory_stage import MemoryStage
from tests.support.qa import LABELS, PARAMS, lineage

FIRST_SUBJECT, FIRST_ADMISSION = 10_000_032, 22_595_853


def write_mimic_like(folder: Path, *, questions: bool = True) -> None:
    """Write ``discharge.csv.gz`` (note_id, subject_id, hadm_id, note_type, note_seq, charttime, storetime, text).

    With ``questions`` also ``EHRNoteQA.jsonl``: a question with known truth for each subject.
    """
    folder.mkdir(parents=True, exist_ok=True)
    prompts, notes, compact, spans = lineage()
    patients = simulated_patients(prompts, notes, compact, PARAMS, seed=5)
    normal = patients[patients["version"] == "normal"]
    subjects = {patient: FIRST_SUBJECT + 17 * i for i, patient in enumerate(sorted(normal["patient"].unique()))}
    table = pd.DataFrame([_summary(row, subjects[row["patient"]]) for row in normal.to_dict("records")])
    with gzip.open(folder / "discharge.csv.gz", "wt", encoding="utf-8") as file:
        table.sample(frac=1, random_state=0).to_csv(file, index=False)  # MIMIC's rows are not in the order of time
    if questions:
        asked, _ = truth_questions(prompts, patients, spans, PARAMS, LABELS, (), seed=5)
        rows = asked.groupby("patient").head(1).to_dict("records")
        lines = [json.dumps(_question(row, subjects[row["patient"]])) for row in rows]
        (folder / "EHRNoteQA.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _summary(row: dict, subject: int) -> dict:
    day = row["date"].replace("202", "215", 1)  # dates are shifted into the future, as in MIMIC
    text = (
        f" \nName:  ___              Unit No:   ___\n \nAdmission Date:  ___          Discharge Date:   ___\n \n"
        f"Chief Complaint:\nRespiratory complaints\n \n{row['note']}\n \nDischarge Disposition:\nHome\n"
    )
    return {
        "note_id": f"{subject}-DS-{row['position'] + 21}",
        "subject_id": subject,
        "hadm_id": FIRST_ADMISSION + int(row["note_id"]),
        "note_type": "DS",
        "note_seq": row["position"] + 21,
        "charttime": f"{day} 00:00:00",
        "storetime": f"{day} 15:15:00",
        "text": text,
    }


def _question(row: dict, subject: int) -> dict:
    choices = dict(zip(LETTERS, json.loads(row["choices"]), strict=True))
    return {
        "category": f"Level{row['level']}",
        "num_notes": row["notes"],
        "patient_id": subject,
        "clinician": "a",
        "question": row["wording"].replace("202", "215"),
        **{f"choice_{letter}": choice.replace("202", "215") for letter, choice in choices.items()},
        "answer": row["answer"],
    }


SECOND = Role(base_url="simulator", model="vignette-answerer")


def _stage(folder, *, questions=True, answerers=(), **settings) -> MemoryStage:
    write_mimic_like(folder / "sources" / "ehrnoteqa", questions=questions)
    params = load_params(ROOT / "params.yaml")
    chosen = params.note_qa.model_copy(update={"versions": ["normal", "none"], "judge_takes": 2} | settings)
    outside = NoteQaOutside(answerers=dict.fromkeys(answerers, SECOND))
    stage = MemoryStage(
        params.model_copy(update={"note_qa": chosen, "note_qa_outside": outside}), folder, "note_qa_outside"
    )
    stage.sources = folder / "sources"
    return stage


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """A run with EHRNoteQA's questions, two answerers, and a returned form."""
    folder = tmp_path_factory.mktemp("mimic")
    stage = _stage(folder, answerers=["second"])
    asyncio.run(note_qa.run_note_qa_outside(stage))
    written = stage.tables["written_questions"]
    rows = [
        {"record": row.question, "decision": "remove" if i == 0 else "keep", "wording": row.wording,
         "choices": json.loads(row.choices), "answer": row.answer, "category": CATEGORIES[i % 2]}
        for i, row in enumerate(written.itertuples())
    ]  # fmt: skip
    form = OutsideQuestionForm(written)
    file = {"format": form.format, "form": form.id, "rater": "a", "questions": rows}
    stage.forms["outside_questions_returned"] = {"a.json": json.dumps(file)}
    asyncio.run(note_qa.run_note_qa_outside(stage))
    return stage


def test_questions_answers_and_verdicts_of_every_answerer_are_saved_as_tables(done):
    written = check(done.tables["written_questions"], QUESTIONS, "written")
    verdicts = check(done.tables["note_qa_outside_judged"], VERDICTS, "verdicts")
    assert len(written) == 9 and set(written["notes"]) == {1, 2, 3}
    assert verdicts.groupby("system")["document"].nunique().to_dict() == {"answerer": 8, "second": 8}
    judged = verdicts[verdicts["metric"] == "score"]
    assert judged.groupby(["system", "condition"])["unit"].nunique().eq(2).all()
    assert "second" in done.asked


def test_removed_questions_are_not_asked_and_categories_are_compared_with_table_3(done):
    assert len(done.tables["questions"]) == len(done.tables["written_questions"]) - 1
    table = done.tables["note_qa_outside"]
    shares = table[table["metric"] == "category_share"].set_index("item")
    assert shares["n"].eq(8).all() and shares.loc["assessment", "value"] == 0.5
    rows = compared(items()["ehrnoteqa", "Table 3"], {"published/note_qa_outside": table}, PUBLISHED)
    assert ("assessment", 20, 50) in {(row["row"], row["published"], row["reproduced"]) for row in rows}


def test_without_published_questions_the_annotator_writes_them(tmp_path):
    stage = _stage(tmp_path, questions=False, versions=["normal"], judge_takes=1, free_text=False)
    asyncio.run(note_qa.run_note_qa_outside(stage))
    assert set(stage.tables["written_questions"]["origin"]) == {"generated"}
    found = {"published/note_qa_outside": stage.tables["note_qa_outside"]}
    assert not compared(items()["ehrnoteqa", "Table 3"], found, PUBLISHED)  # it is about the published questions
    shifted = pd.to_numeric(stage.tables["written_questions"]["patient"])
    assert shifted.min() >= 10_000_032
