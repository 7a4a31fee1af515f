"""Stage `note_qa`: questions on simulated patients, answers with and without choices, and repeated judging."""

import pandas as pd

from flows.engine.question_chunks import answer_and_judge, write_questions
from flows.engine.stage import Stage
from flows.engine.tables import write_atomically
from schemas.tables.labels import HUMAN_LABELS
from schemas.tables.metrics import SCORES
from schemas.tables.note_qa import ANSWERS, JUDGEMENTS, PATIENT_NOTES, PLANTED, QUESTIONS
from schemas.tables.notes import COMPACT_NOTES, NOTES, PROMPTS
from schemas.tables.spans import SPANS
from tasks.domains.rules import load_rules
from tasks.evaluation.note_qa.known_truth import truth_questions
from tasks.evaluation.note_qa.metrics import note_qa_metrics, note_qa_scores
from tasks.evaluation.note_qa.patients import simulated_patients
from tasks.evaluation.note_qa.planted import planted_answers
from tasks.evaluation.note_qa.question_labels import question_labels
from tasks.evaluation.note_qa.question_review import (
    form_id,
    read_question_reviews,
    render_question_form,
    review_counts,
    revise,
)

_KEYS = ["question", "version", "form", "variant", "take"]


async def run(stage: Stage) -> None:
    """Draw patients, make questions, take clinicians' revisions of them, answer, judge, and score."""
    params, seed = stage.params.note_qa, stage.params.seed
    prompts, notes = stage.load("prompts", PROMPTS), stage.load("notes", NOTES)
    patients = simulated_patients(prompts, notes, stage.load("compact_notes", COMPACT_NOTES), params, seed=seed)
    stage.save("patient_notes", patients, PATIENT_NOTES)
    spans = stage.load("spans", SPANS)
    known, wordings = truth_questions(prompts, patients, spans, params, load_rules().labels, seed=seed)
    written = await stage.in_chunks(write_questions, {"patients": patients}, by="patient")

    stage.save("generated_questions", written["questions"], QUESTIONS)
    asked = pd.concat([known, written["questions"]], ignore_index=True).sort_values("question", ignore_index=True)
    html = render_question_form(written["questions"], patients, "clinician")
    write_atomically(stage.out("question_form"), lambda to: to.write_text(html, encoding="utf-8"))
    files = stage.returned("questions_returned", form_id(written["questions"]))
    reviews = read_question_reviews(files, written["questions"])
    labels = question_labels(written["questions"], reviews, stage.ask("annotator").label)
    stage.save("question_labels", labels, HUMAN_LABELS)
    questions = revise(asked, reviews)
    planted = planted_answers(questions, wordings, params.planted_questions, free_text=params.free_text, seed=seed)
    frames = {"questions": questions, "patients": patients, "planted": planted}
    answered = await stage.in_chunks(answer_and_judge, frames, by="patient")

    unscored = pd.concat([written["unscored"], answered["unscored"]], ignore_index=True)
    answers = answered["answers"].sort_values(_KEYS[:3], ignore_index=True)
    judgements = answered["judgements"].sort_values(_KEYS, ignore_index=True)
    stage.save("questions", questions, QUESTIONS)
    stage.save("answers", answers, ANSWERS)
    stage.save("planted", planted, PLANTED)
    stage.save("judgements", judgements, JUDGEMENTS)
    stage.save("note_qa_scores", note_qa_scores(judgements, questions, patients), SCORES)
    calls = len(written["questions"]) + len(answers) + len(judgements) + len(unscored)
    stage.save_unscored("unscored_note_qa", unscored, of=calls)
    made = stage.provenance(["annotator", "answerer", "judge"])
    metrics = note_qa_metrics(questions, patients, answers, planted, judgements, unscored, seed=seed, provenance=made)
    counts = review_counts(written["questions"], reviews, seed=seed, provenance=made)
    stage.save_metrics("note_qa", pd.concat([metrics, counts], ignore_index=True))
