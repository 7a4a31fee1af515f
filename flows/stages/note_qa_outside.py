"""Stage `note_qa_outside`: EHRNoteQA on the user's own MIMIC-IV notes; empty tables where they are absent.

Outputs hold credentialed text: they are neither cached nor tracked by git.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from flows.runtime.chunks import Frames, join
from flows.runtime.stage import Stage
from flows.runtime.tables import write_atomically
from schemas.params import Params
from schemas.params.llm import RoleName
from schemas.params.measures import ANSWERER
from schemas.tables.columns import typed
from schemas.tables.metrics import UNSCORED
from schemas.tables.note_qa import SYSTEM_ANSWERS, SYSTEM_JUDGEMENTS
from tasks.measures.note_qa.answering import JUDGED
from tasks.measures.note_qa.metrics import answerers_metrics
from tasks.measures.note_qa.mimic import (
    DISCHARGE,
    QUESTIONS_FILE,
    discharge_file,
    read_patients,
    read_questions,
    read_subjects,
    sample_patients,
)
from tasks.measures.note_qa.protocol import answer, judge, write_questions
from tasks.measures.note_qa.reproduction import category_rows
from tasks.people.question_form import (
    OutsideQuestionForm,
    review_counts,
    revise,
)
from tasks.statistics.metric_rows import metric_table

STAGE = "note_qa_outside"
FOLDER = "ehrnoteqa"
_TABLES = ("written_questions", "questions", "answers", "judgements")


def reads(_: Params) -> list[str]:
    """The files of outside data that the stage reads."""
    return [f"{FOLDER}/{name}" for name in (*DISCHARGE, QUESTIONS_FILE)]


async def run(stage: Stage) -> None:
    """Write the questions, answers, verdicts and metrics.

    Questions are EHRNoteQA's where its file is at hand; else the annotator writes them, on as many patients of the
    discharge table as EHRNoteQA drew. Clinicians' revisions are applied to either.
    """
    folder = stage.sources / FOLDER if stage.sources else None
    discharge = discharge_file(folder)
    if folder is None or discharge is None:
        _save_nothing(stage)
        return
    notes, written, unwritten, roles = await _questions(stage, discharge, folder / QUESTIONS_FILE)
    form = OutsideQuestionForm(written)
    reviews = form.reviews(stage.returned("outside_questions_returned", form.id))
    tables = {"written_questions": written, "questions": revise(written, reviews)}
    answered, unanswered = await _answers_and_verdicts(stage, notes, tables["questions"])
    _save(stage, tables | answered, form.filled(notes, "clinician"))

    unscored = pd.concat([unwritten, unanswered], ignore_index=True)
    calls = len(written) + sum(map(len, answered.values())) + len(unscored)
    stage.save_unscored("unscored_note_qa_outside", unscored, of=calls)
    about: dict[str, Any] = {"stage": STAGE, "seed": stage.params.seed, "provenance": _provenance(stage, roles)}
    counts = review_counts(written, reviews, **about)
    metrics = answerers_metrics(tables["questions"], notes, **answered, unscored=unscored, **about)
    stage.save_metrics("note_qa_outside", pd.concat([metrics, counts], ignore_index=True))
    printed = pd.read_csv(stage.dep("ehrnoteqa_table3_categories"))
    stage.save("reproduction_note_qa_outside", category_rows(counts, printed))


async def _questions(
    stage: Stage, discharge: Path, file: Path
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame, list[RoleName]]:
    """Notes, questions, unscored rows, and the roles to name as their origin."""
    params = stage.params.note_qa
    if file.is_file():
        notes = read_patients(discharge, params, read_subjects(file))
        return notes, read_questions(file, notes, params), typed([], UNSCORED), ["answerer", "judge"]
    notes = sample_patients(read_patients(discharge, params), params, seed=stage.params.seed)
    written = await stage.in_chunks(write_questions, {"patients": notes}, by="patient")
    return notes, written["questions"], written["unscored"], ["annotator", "answerer", "judge"]


async def _answers_and_verdicts(
    stage: Stage, notes: pd.DataFrame, questions: pd.DataFrame
) -> tuple[Frames, pd.DataFrame]:
    """Answers and judgements of every answerer, and what could not be answered or judged."""
    parts: list[Frames] = []
    for name in (ANSWERER, *stage.params.note_qa_outside.answerers):
        answering = stage if name == ANSWERER else stage.answered_by(name)
        answered = await answering.in_chunks(answer, {"questions": questions, "patients": notes}, by="patient")
        outputs = answered["answers"].assign(variant="answer")[JUDGED]
        judged = await stage.in_chunks(judge, {"questions": questions, "outputs": outputs}, by="patient")
        unscored = pd.concat([answered["unscored"], judged["unscored"]], ignore_index=True)
        parts.append(
            {
                "answers": typed(answered["answers"].assign(system=name), SYSTEM_ANSWERS),
                "judgements": typed(judged["judgements"].assign(system=name), SYSTEM_JUDGEMENTS),
                "unscored": unscored.assign(step=unscored["step"] + f"/{name}"),
            }
        )
    done = join(parts)
    unscored = done.pop("unscored")
    schemas = {"answers": SYSTEM_ANSWERS, "judgements": SYSTEM_JUDGEMENTS}
    return {name: done[name].sort_values(list(schemas[name].unique), ignore_index=True) for name in schemas}, unscored


def _provenance(stage: Stage, roles: Sequence[RoleName]) -> str:
    names = stage.params.note_qa_outside.answerers
    further = [f"{name}: {stage.answered_by(name).ask('answerer').label}" for name in names]
    return ", ".join([stage.provenance(roles), *further])


def _save(stage: Stage, tables: Frames, form: str) -> None:
    for name in _TABLES:
        stage.save(name, tables[name])
    write_atomically(stage.out("question_form"), lambda to: to.write_text(form, encoding="utf-8"))


def _save_nothing(stage: Stage) -> None:
    stage.save_empty(*_TABLES, "unscored_note_qa_outside", "reproduction_note_qa_outside")
    stage.save_metrics("note_qa_outside", metric_table([]))
    write_atomically(stage.out("question_form"), lambda to: to.write_text("", encoding="utf-8"))
