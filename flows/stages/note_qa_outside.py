"""Stage `note_qa_outside`: EHRNoteQA on the user's own MIMIC-IV notes; empty tables where they are absent."""

import pandas as pd

from flows.engine.question_chunks import answer_and_judge, write_questions
from flows.engine.stage import Stage
from schemas.params import Params
from schemas.params.llm import RoleName
from schemas.tables.note_qa import PLANTED
from tasks.evaluation.note_qa.metrics import note_qa_metrics
from tasks.evaluation.note_qa.mimic import (
    DISCHARGE,
    QUESTIONS_FILE,
    discharge_file,
    read_patients,
    read_questions,
    read_subjects,
    sample_patients,
)
from tasks.llm.unscored import unscored_table
from tasks.statistics.metric_rows import metric_table

FOLDER = "ehrnoteqa"


def reads(_: Params) -> list[str]:
    """The files of outside data that the stage reads."""
    return [f"{FOLDER}/{name}" for name in (*DISCHARGE, QUESTIONS_FILE)]


async def run(stage: Stage) -> None:
    """Write the metrics.

    Questions are EHRNoteQA's where its file is at hand; else the annotator writes them, on as many patients of the
    discharge table as EHRNoteQA drew.
    """
    folder = stage.sources / FOLDER if stage.sources else None
    discharge, params = discharge_file(folder), stage.params.note_qa
    if folder is None or discharge is None:
        stage.save_metrics("note_qa_outside", metric_table([]))
        stage.save_unscored("unscored_note_qa_outside", unscored_table([]), of=0)
        return
    file, unscored = folder / QUESTIONS_FILE, unscored_table([])
    roles: list[RoleName] = ["answerer", "judge"]
    if file.is_file():
        notes = read_patients(discharge, params, read_subjects(file))
        questions = read_questions(file, notes, params)
    else:
        notes = sample_patients(read_patients(discharge, params), params, seed=stage.params.seed)
        written = await stage.in_chunks(write_questions, {"patients": notes}, by="patient")
        questions, unscored, roles = written["questions"], written["unscored"], ["annotator", *roles]
    planted = pd.DataFrame({name: pd.Series(dtype=str) for name in PLANTED.columns}).astype({"right": bool})
    frames = {"questions": questions, "patients": notes, "planted": planted}
    done = await stage.in_chunks(answer_and_judge, frames, by="patient")
    unscored = pd.concat([unscored, done["unscored"]], ignore_index=True)
    calls = len(questions) + len(done["answers"]) + len(done["judgements"]) + len(unscored)
    stage.save_unscored("unscored_note_qa_outside", unscored, of=calls)
    metrics = note_qa_metrics(
        questions, notes, done["answers"], planted, done["judgements"], unscored,
        seed=stage.params.seed, provenance=stage.provenance(roles), stage="note_qa_outside",
    )  # fmt: skip
    stage.save_metrics("note_qa_outside", metrics)
