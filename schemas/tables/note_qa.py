"""Tables of note question answering."""

from schemas.tables.columns import PROVENANCE, category, count, flag, table, text

LETTERS = ("A", "B", "C", "D", "E")

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
)
