"""Stage `note_qa_outside`: EHRNoteQA on the user's own MIMIC-IV notes; empty tables where they are not at hand."""

import pandas as pd

from flows.runtime import Stage
from flows.stages.note_qa import answer_and_judge
from schemas.tables.metrics import METRICS
from schemas.tables.note_qa import PLANTED
from tasks.evaluation.note_qa.metrics import note_qa_metrics
from tasks.evaluation.note_qa.mimic import QUESTIONS_FILE, discharge_file, read_patients, read_questions
from tasks.llm.unscored import unscored_table


async def run(stage: Stage) -> None:
    """Answer and judge EHRNoteQA's questions, with the answerer and judge that params name."""
    folder = stage.sources / "ehrnoteqa" if stage.sources else None
    discharge = discharge_file(folder)
    file = folder / QUESTIONS_FILE if folder else None
    params = stage.params.note_qa
    if file is None or discharge is None or not file.is_file():
        stage.save_metrics("note_qa_outside", pd.DataFrame(columns=list(METRICS.columns)).astype(_types()))
        stage.save_unscored("unscored_note_qa_outside", unscored_table([]), of=0)
        return
    subjects = set(pd.read_json(file, lines=True, dtype=False)["patient_id"].astype(str))
    notes = read_patients(discharge, params, subjects)
    questions = read_questions(file, notes, params)
    planted = pd.DataFrame({name: pd.Series(dtype=str) for name in PLANTED.columns}).astype({"right": bool})
    frames = {"questions": questions, "patients": notes, "planted": planted}
    done = await stage.in_chunks(answer_and_judge, frames, by="patient")
    calls = len(done["answers"]) + len(done["judgements"]) + len(done["unscored"])
    stage.save_unscored("unscored_note_qa_outside", done["unscored"], of=calls)
    metrics = note_qa_metrics(
        questions, notes, done["answers"], planted, done["judgements"], done["unscored"],
        seed=stage.params.seed, provenance=stage.provenance(["answerer", "judge"]), stage="note_qa_outside",
    )  # fmt: skip
    stage.save_metrics("note_qa_outside", metrics)


def _types() -> dict[str, str]:
    return {name: str(column.dtype) for name, column in METRICS.columns.items()}
