"""Records and visits, with columns of the network definition; prompts, notes and spans; SimSUM's printed tables."""

from typing import Any

import pandera.pandas as pa

from schemas.tables.columns import (
    ATTEMPT,
    DAY,
    NOTE_VERSION,
    PATIENT,
    PROVENANCE,
    RECORD,
    SECTION,
    SYMPTOM,
    VISIT,
    VISIT_RECORD,
    category,
    count,
    flag,
    table,
    text,
)


def records_schema(definition: Any) -> pa.DataFrameSchema:
    """The schema of ``records``: the record's id, then the variables in the order of the network's definition.

    A variable with values is a string column, a count (days at home) an int64 column.
    """
    return table({"record": RECORD, **_variables(definition)}, key=["record"])


def visits_schema(definition: Any) -> pa.DataFrameSchema:
    """The schema of ``visits``: record, patient, visit and day, then the variables in the definition's order."""
    head = {"record": VISIT_RECORD, "patient": PATIENT, "visit": VISIT, "day": DAY}
    return table({**head, **_variables(definition)}, key=["record"], description="Sorted by patient and visit.")


def _variables(definition: Any) -> dict[str, pa.Column]:
    return {
        name: category(*definition.values(name)) if definition.values(name) else count()
        for name in definition.variables
    }


BY_NETWORK = {"records": records_schema, "visits": visits_schema}
"""Schemas by stem of the tables whose columns come from the domain's network."""

PROMPTS = table(
    {
        "record": RECORD,
        "kind": category("symptoms", "conditions", "unrelated"),
        "mention": text(description="JSON list: symptoms to mention, in prompt order"),
        "avoid": text(description="JSON list: symptoms not to mention, in prompt order"),
        "values": text(description="JSON object: symptom -> value in the record"),
        "descriptors": text(description="JSON object: symptom -> descriptor or null"),
        "causes": text(description="JSON object: symptom -> causes from whose descriptors one was drawn"),
        "conditions": text(description="JSON list: underlying conditions, in prompt order"),
        "instructions": text(
            description="what the note must and must not say of symptoms and conditions; part of single_prompt"
        ),
        "call": count(description='records of kind "unrelated" share a call, three to one'),
        "slot": count(description="index of this record's note in the reply"),
        "prompt": text(description="user message that asks for the note(s)"),
        "single_prompt": text(description="the same, for this note only"),
    },
    key=["record"],
)

ATTEMPTS = table(
    {
        "record": RECORD,
        "attempt": ATTEMPT,
        "note": text(),
        "consistent": pa.Column("boolean", nullable=True, description="null: the check could not be scored"),
        "explanation": text(nullable=True),
        "provenance": PROVENANCE,
    },
    key=["record", "attempt"],
)

FIRST_NOTES = table(
    {"record": RECORD, "attempt": ATTEMPT, "note": text(), "provenance": PROVENANCE},
    key=["record"],
)

NOTES = table(
    {
        "record": RECORD,
        "attempt": count(description="the attempt that was kept"),
        "note": text(),
        "consistent": flag(
            description="false: flagged, or the check could not be scored; stage note_qa alone leaves such notes out"
        ),
        "provenance": PROVENANCE,
    },
    key=["record"],
)

COMPACT_NOTES = table(
    {"record": RECORD, "compact": text(), "provenance": PROVENANCE},
    key=["record"],
)


MATCH_KINDS = ("exact", "normalised", "elided", "corrected", "published")

ASSERTIONS = ("present", "absent", "possible", "past", "other person")
ASSERTION = category(
    *ASSERTIONS,
    nullable=True,
    description="what the note asserts there of the symptom, by the annotator; null: published, or the call failed",
)

SPANS = table(
    {
        "record": RECORD,
        "version": NOTE_VERSION,
        "symptom": SYMPTOM,
        "start": count(description="characters into the note, 0-based"),
        "end": count(description="exclusive"),
        "text": text(description="always note[start:end]"),
        "section": SECTION,
        "matched": category(*MATCH_KINDS),
        "assertion": ASSERTION,
        "record_value": text(nullable=True, description="the symptom's value in the record; null: it is not known"),
    },
    description="Sorted by record, version, start, end, symptom. One stretch may carry several symptoms.",
)

CORRECTED_SPANS = table(
    {
        "record": RECORD,
        "version": NOTE_VERSION,
        "symptom": text(nullable=True, description="null: no span was found in this note"),
        "start": count(),
        "end": count(),
        "text": text(nullable=True),
        "assertion": ASSERTION,
    },
    description="Spans as a human reader left them, one row for each; sorted by record, version, start and end.",
)
