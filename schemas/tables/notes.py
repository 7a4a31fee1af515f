"""Tables from prompt to compact note."""

import pandera.pandas as pa

from schemas.tables.columns import ATTEMPT, PROVENANCE, RECORD, category, count, flag, table, text

PROMPT_KINDS = ("symptoms", "conditions", "unrelated")

PROMPTS = table(
    {
        "record": RECORD,
        "kind": category(*PROMPT_KINDS),
        "mention": text(),  # JSON list: symptoms to mention, in prompt order
        "avoid": text(),  # JSON list: symptoms not to mention, in prompt order
        "values": text(),  # JSON object: symptom -> value in the record
        "descriptors": text(),  # JSON object: symptom -> descriptor or null
        "causes": text(),  # JSON object: symptom -> causes from whose descriptors one was drawn
        "conditions": text(),  # JSON list: underlying conditions, in prompt order
        "instructions": text(),  # what the note must and must not say of symptoms and conditions; part of single_prompt
        "call": count(),  # records of kind "unrelated" share a call, three to one
        "slot": count(),  # index of this record's note in the reply
        "prompt": text(),  # user message that asks for the note(s)
        "single_prompt": text(),  # the same, for this note only
    },
    key=["record"],
    name="prompts",
)

ATTEMPTS = table(
    {
        "record": RECORD,
        "attempt": ATTEMPT,
        "note": text(),
        "consistent": pa.Column("boolean", nullable=True),  # null: the check could not be scored
        "explanation": text(nullable=True),
        "provenance": PROVENANCE,
    },
    key=["record", "attempt"],
    name="attempts",
)

FIRST_NOTES = table(
    {"record": RECORD, "attempt": ATTEMPT, "note": text(), "provenance": PROVENANCE},
    key=["record"],
    name="first_notes",
)

NOTES = table(
    {
        "record": RECORD,
        "attempt": ATTEMPT,  # the attempt that was kept
        "note": text(),
        "consistent": flag(),  # false: still flagged after the last attempt, or never judged
        "provenance": PROVENANCE,
    },
    key=["record"],
    name="notes",
)

COMPACT_NOTES = table(
    {"record": RECORD, "compact": text(), "provenance": PROVENANCE},
    key=["record"],
    name="compact_notes",
)
