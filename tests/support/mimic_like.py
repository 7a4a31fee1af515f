"""A folder in the layout of MIMIC-IV-Note and EHRNoteQA, made of the project's own notes: no real patient is in it.

Subjects are `tests.support.qa.lineage`'s patients; each encounter is an admission whose note becomes the text of a
discharge summary, with MIMIC's headings, de-identification marks and line breaks.
"""

import gzip
import json
from pathlib import Path

import pandas as pd

from schemas.tables.note_qa import LETTERS
from tasks.measures.note_qa.patients import simulated_patients
from tasks.measures.note_qa.truth_questions import truth_questions
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
