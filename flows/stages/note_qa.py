"""Stage `note_qa`: questions on simulated patients, answers with and without choices, and repeated judging."""

import pandas as pd

from flows.runtime.stage import Stage
from flows.runtime.tables import write_atomically
from tasks.domains.in_use import data_of
from tasks.domains.rules import rules_of
from tasks.measures.note_qa.answering import planted_answers
from tasks.measures.note_qa.metrics import note_qa_metrics, note_qa_scores
from tasks.measures.note_qa.patients import simulated_patients
from tasks.measures.note_qa.protocol import answer_and_judge, write_questions
from tasks.measures.note_qa.truth_questions import truth_questions
from tasks.people.question_form import (
    QuestionForm,
    question_labels,
    review_counts,
    revise,
)

_KEYS = ["question", "version", "form", "variant", "take"]


async def run(stage: Stage) -> None:
    """Draw patients, make questions, take clinicians' revisions of them, answer, judge, and score."""
    params, seed = stage.params.note_qa, stage.params.seed
    prompts, notes = stage.load("prompts"), stage.load("notes")
    patients = simulated_patients(prompts, notes, stage.load("compact_notes"), params, seed=seed)
    stage.save("patient_notes", patients)
    spans = stage.load("spans")
    domain = stage.params.domain
    words = (rules_of(domain).labels, data_of(domain, "near_synonyms") or ())
    known, wordings = truth_questions(prompts, patients, spans, params, *words, seed=seed)
    written = await stage.in_chunks(write_questions, {"patients": patients}, by="patient")

    stage.save("generated_questions", written["questions"])
    asked = pd.concat([known, written["questions"]], ignore_index=True).sort_values("question", ignore_index=True)
    form = QuestionForm(written["questions"])
    html = form.filled(patients, "clinician")
    write_atomically(stage.out("question_form"), lambda to: to.write_text(html, encoding="utf-8"))
    reviews = form.reviews(stage.returned("questions_returned", form.id))
    labels = question_labels(written["questions"], reviews, stage.ask("annotator").label)
    stage.save("question_labels", labels)
    questions = revise(asked, reviews)
    planted = planted_answers(questions, wordings, params.planted_questions, free_text=params.free_text, seed=seed)
    frames = {"questions": questions, "patients": patients, "planted": planted}
    answered = await stage.in_chunks(answer_and_judge, frames, by="patient")

    unscored = pd.concat([written["unscored"], answered["unscored"]], ignore_index=True)
    answers = answered["answers"].sort_values(_KEYS[:3], ignore_index=True)
    judgements = answered["judgements"].sort_values(_KEYS, ignore_index=True)
    stage.save("questions", questions)
    stage.save("answers", answers)
    stage.save("planted", planted)
    stage.save("judgements", judgements)
    stage.save("note_qa_scores", note_qa_scores(judgements, questions, patients))
    calls = len(written["questions"]) + len(answers) + len(judgements) + len(unscored)
    stage.save_unscored("unscored_note_qa", unscored, of=calls)
    made = stage.provenance(["annotator", "answerer", "judge"])
    metrics = note_qa_metrics(questions, patients, answers, planted, judgements, unscored, seed=seed, provenance=made)
    counts = review_counts(written["questions"], reviews, seed=seed, provenance=made)
    stage.save_metrics("note_qa", pd.concat([metrics, counts], ignore_index=True))
