"""Stages of note QA: `note_qa` on simulated patients, `note_qa_outside` on MIMIC-IV, and printed EHRNoteQA tables."""

from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from flows.runtime.stage import Stage
from schemas.params import Params
from schemas.params.llm import RoleName
from schemas.params.measures import ANSWERER
from schemas.tables.columns import typed
from schemas.tables.metrics import UNSCORED
from schemas.tables.verdicts import in_order
from tasks.domains.in_use import data_of
from tasks.domains.rules import rules_of
from tasks.measures.note_qa.answering import answer, answer_and_judge, judge, planted_answers
from tasks.measures.note_qa.form import (
    OutsideQuestionForm,
    QuestionForm,
    free_answers,
    grading_form,
    grading_rows,
    question_labels,
    review_counts,
    revise,
)
from tasks.measures.note_qa.metrics import correlation_metrics, question_metrics, question_scores
from tasks.measures.note_qa.patients import notes_text, simulated_patients
from tasks.measures.note_qa.questions import (
    DISCHARGE,
    QUESTIONS_FILE,
    discharge_file,
    read_patients,
    read_questions,
    read_subjects,
    sample_patients,
    write_questions,
)
from tasks.measures.note_qa.truth_questions import truth_questions
from tasks.statistics.metric_rows import metric_table


async def run_note_qa(stage: Stage) -> None:
    """Draw patients, make questions, take clinicians' revisions of them, answer, judge, and score."""
    params, seed = stage.params.note_qa, stage.params.seed
    prompts, notes = stage.load("prompts"), stage.load("notes")
    patients = simulated_patients(prompts, notes, stage.load("compact_notes"), params, seed=seed)
    stage.save("patient_notes", patients)
    spans, domain = stage.load("spans"), stage.params.domain
    words = (rules_of(domain).labels, data_of(domain, "near_synonyms") or ())
    known, wordings = truth_questions(prompts, patients, spans, params, *words, seed=seed)
    written = await stage.in_chunks(write_questions, {"patients": patients}, by="patient")

    stage.save("generated_questions", written["questions"])
    asked = pd.concat([known, written["questions"]], ignore_index=True).sort_values("question", ignore_index=True)
    form = QuestionForm(written["questions"])
    stage.save_text("question_form", form.filled(patients, "clinician"))
    reviews = form.reviews(stage.returned("questions_returned", form.id))
    labels = question_labels(written["questions"], reviews, stage.ask("annotator").label)
    stage.save("question_labels", labels)
    questions = revise(asked, reviews)
    planted = planted_answers(questions, wordings, params.planted_questions, free_text=params.free_text, seed=seed)
    frames = {"questions": questions, "patients": patients, "planted": planted}
    answered = await stage.in_chunks(answer_and_judge, frames, by="patient")

    unscored = pd.concat([written["unscored"], answered["unscored"]], ignore_index=True)
    verdicts = in_order(answered["verdicts"])
    stage.save("questions", questions)
    stage.save("note_qa_judged", verdicts)
    stage.save("note_qa_scores", question_scores(verdicts, patients))
    calls = len(written["questions"]) + len(verdicts) + len(unscored)
    stage.save_unscored("unscored_note_qa", unscored, of=calls)
    about: dict[str, Any] = {"stage": stage.name, "seed": seed}
    about["provenance"] = stage.provenance(["annotator", "answerer", "judge"])
    metrics = question_metrics(questions, patients, verdicts, **about)
    counts = review_counts(written["questions"], reviews, **about)
    stage.save_metrics("note_qa", pd.concat([metrics, counts], ignore_index=True))


STAGE = "note_qa_outside"
FOLDER = "ehrnoteqa"


def reads_note_qa_outside(_: Params) -> list[str]:
    """The files of outside data that the stage reads."""
    return [f"{FOLDER}/{name}" for name in (*DISCHARGE, QUESTIONS_FILE)]


async def run_note_qa_outside(stage: Stage) -> None:
    """Write the questions, answers, verdicts and metrics.

    Questions are EHRNoteQA's where its file is at hand; else the annotator writes them, on as many patients of the
    discharge table as EHRNoteQA drew. Clinicians' revisions are applied to either.
    """
    folder = stage.sources / FOLDER if stage.sources else None
    discharge = discharge_file(folder)
    if folder is None or discharge is None:
        stage.save_nothing()
        return
    notes, written, unwritten, roles = await _questions(stage, discharge, folder / QUESTIONS_FILE)
    form = OutsideQuestionForm(written)
    reviews = form.reviews(stage.returned("outside_questions_returned", form.id))
    questions = revise(written, reviews)
    verdicts, unanswered = await _verdicts(stage, notes, questions)
    stage.save("written_questions", written)
    stage.save("questions", questions)
    stage.save("note_qa_outside_judged", verdicts)
    stage.save_text("question_form", form.filled(notes, "clinician"))

    unscored = pd.concat([unwritten, unanswered], ignore_index=True)
    calls = len(written) + len(verdicts) + len(unscored)
    stage.save_unscored("unscored_note_qa_outside", unscored, of=calls)
    answerers = {name: stage.answered_by(name) for name in stage.params.note_qa_outside.answerers}
    further = [f"{name}: {answering.ask('answerer').label}" for name, answering in answerers.items()]
    about: dict[str, Any] = {"stage": STAGE, "seed": stage.params.seed}
    about["provenance"] = ", ".join([stage.provenance(roles), *further])
    counts = review_counts(written, reviews, **about)
    metrics = question_metrics(questions, notes, verdicts, **about)
    given = free_answers(verdicts, seed=stage.params.seed)
    grading = grading_form(given, questions, {str(of): notes_text(own) for of, own in notes.groupby("patient")})
    stage.save_text("grading_form", grading.filled("clinician"))
    chosen = grading.chosen(stage.returned("grades_returned", grading.id))
    graded = metric_table(grading_rows(given, chosen, verdicts), **about)
    stage.save_metrics("note_qa_outside", pd.concat([metrics, counts, graded], ignore_index=True))


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


async def _verdicts(stage: Stage, notes: pd.DataFrame, questions: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """VERDICTS on the answers of every answerer, and what could not be answered or judged."""
    verdicts, unscored = [], []
    for name in (ANSWERER, *stage.params.note_qa_outside.answerers):
        answering = stage if name == ANSWERER else stage.answered_by(name)
        answered = await answering.in_chunks(answer, {"questions": questions, "patients": notes}, by="patient")
        outputs = {"questions": questions, "outputs": answered["answers"]}
        judged = await stage.in_chunks(partial(judge, answerer=name), outputs, by="patient")
        verdicts.append(judged["verdicts"])
        failed = pd.concat([answered["unscored"], judged["unscored"]], ignore_index=True)
        unscored.append(failed.assign(step=failed["step"] + f"/{name}"))
    return in_order(pd.concat(verdicts, ignore_index=True)), pd.concat(unscored, ignore_index=True)


async def run_ehrnoteqa_published(stage: Stage) -> None:
    """Write Table 5 with intervals."""
    benchmarks = pd.read_csv(stage.dep("ehrnoteqa_table7_benchmarks"))
    stage.save_metrics("ehrnoteqa_correlations", correlation_metrics(benchmarks, seed=stage.params.seed))
