"""Notes of patients' visits, the facts of their records over time, and summaries of their notes."""

import pandera.pandas as pa

from schemas.tables.columns import (
    DAY,
    PATIENT,
    PROVENANCE,
    VISIT,
    VISIT_RECORD,
    category,
    count,
    flag,
    number,
    table,
    text,
)
from schemas.tables.note_qa import QUESTIONS

VISIT_NOTES = table(
    {
        "record": VISIT_RECORD,
        "patient": PATIENT,
        "visit": VISIT,
        "day": DAY,
        "text": text(description="the note below a line with the visit's number and date"),
        "consistent": flag(description="false: flagged, or the check could not be scored; all stages take such notes"),
        "provenance": PROVENANCE,
    },
    key=["record"],
)

HISTORY_FACTS = table(
    {
        "patient": PATIENT,
        "fact": text(description="kind, variable and first day"),
        "kind": category("trait", "episode", "level", "treatment", "decision"),
        "item": text(description="the variable"),
        "value": text(description="of a level, treatment or decision; empty for others"),
        "start": DAY,
        "end": pa.Column("Int64", nullable=True, description="first day without the symptom; null: it goes on"),
        "claim": text(description="the fact as a sentence"),
    },
    key=["patient", "fact"],
    description="What a summary of a patient's notes may state: the record over time, a fact a row.",
)

HISTORY_SUMMARIES = table(
    {
        "patient": PATIENT,
        "purpose": category("referral", "discharge"),
        "words": count(description="limit of the request"),
        "system": text(),
        "text": text(description="with citation marks, if the system cites"),
        "length": count(description="words without citation marks"),
        "provenance": PROVENANCE,
    },
    key=["patient", "purpose", "words", "system"],
    description="A text above its limit is kept whole and counted (metric over_limit).",
)

SUMMARY_TRUTH = table(
    {
        "document": text(description="the patient"),
        "system": text(description="damage and dose"),
        "damage": category("removed", "invented", "contradicted"),
        "dose": count(description="facts removed from, or false statements added to, a summary of all facts"),
        "recall": number(low=0, high=1, description="share of the patient's facts that it states"),
        "precision": number(low=0, high=1, description="share of its statements that are true"),
    },
    key=["document", "system"],
    description="Summaries whose truth is known by construction; that of each fact is in the table facts_stated.",
)

PLACES = ("beginning", "middle", "end", "throughout", "nowhere")

HISTORY_QUESTIONS = table(
    {
        **QUESTIONS.columns,
        "place": category(*PLACES, description="third of the notes that has the evidence; nowhere: unanswerable"),
        "visits": text(description="JSON list: numbers of the visits that the answer depends on"),
    },
    key=["question"],
)
