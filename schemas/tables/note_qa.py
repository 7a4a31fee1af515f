"""Tables of note question answering."""

import pandera.pandas as pa

from schemas.tables.columns import PROVENANCE, category, count, flag, table, text

LETTERS = ("A", "B", "C", "D", "E")
FORMS = ("multiple_choice", "free_text")
VERSIONS = ("normal", "compact", "none")

PATIENT_NOTES = table(
    {
        "patient": text(),
        "version": category("normal", "compact"),
        "position": count(description="0-based, in the order of dates"),
        "note_id": text(description="record id, or the admission of an outside note"),
        "date": text(description="ISO date of the note"),
        "note": text(description="superfluous white space removed"),
        "tokens": count(),
    },
    key=["patient", "version", "position"],
    name="patient_notes",
)

QUESTIONS = table(
    {
        "question": text(description="id"),
        "patient": text(),
        "origin": category("truth", "generated", "outside"),
        "kind": text(description='findings, descriptor, visit, change; "generated"; a published category'),
        "answerable": flag(),
        "notes": count(description="number of the patient's notes"),
        "tokens": count(description="of all of them, normal version"),
        "level": count(description="1 for the shortest; number of limits + 1: beyond all limits"),
        "wording": text(description="the question as asked"),
        "choices": text(description="JSON list of five"),
        "answer": category(*LETTERS),
        "reason": text(nullable=True),
        "provenance": PROVENANCE,
    },
    key=["question"],
    name="questions",
)

_ANSWER = {
    "patient": text(),
    "question": text(),
    "version": category(*VERSIONS),
    "form": category(*FORMS),
    "output": text(),
    "letter": text(nullable=True),  # the choice named by a multiple-choice answer, if any
    "provenance": PROVENANCE,
}
ANSWERS = table(_ANSWER, key=["question", "version", "form"], name="answers")

PLANTED = table(
    {
        "patient": text(),
        "question": text(),
        "form": category(*FORMS),
        "variant": text(),
        "output": text(),
        "right": flag(),
    },
    key=["question", "form", "variant"],
    name="planted",
    description="Answers written for the judge, whose right verdict is known.",
)

_JUDGEMENT = {
    "patient": text(),
    "question": text(),
    "version": text(),  # of the notes answered from; "planted" for planted answers
    "form": category(*FORMS),
    "variant": text(),  # "answer", or the kind of planted answer
    "take": count(),
    "verdict": pa.Column(bool),  # judged to match the right choice
    "provenance": PROVENANCE,
}
JUDGEMENTS = table(_JUDGEMENT, key=["question", "version", "form", "variant", "take"], name="judgements")

_SYSTEM = {"system": text()}  # name of the answerer
SYSTEM_ANSWERS = table(
    {**_SYSTEM, **_ANSWER}, key=["system", "question", "version", "form"], name="answers of several answerers"
)
SYSTEM_JUDGEMENTS = table(
    {**_SYSTEM, **_JUDGEMENT},
    key=["system", "question", "version", "form", "variant", "take"],
    name="judgements of several answerers",
)
