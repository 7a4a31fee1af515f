"""Notes with a known error, or none, and what the consistency check said of them."""

import pandera.pandas as pa

from schemas.tables.columns import RECORD, category, table, text

CHECKS = ("consistency", "compact")

PLANTED_CASES = table(
    {
        "record": RECORD,  # number of the case
        "check": category(*CHECKS),
        "kind": text(),  # kind of the planted error; "none" where nothing was planted
        "instructions": text(),  # what the note was written from
        "note": text(),
        "compact": text(nullable=True),  # the compact version, where that is what is checked
    },
    key=["record"],
    name="planted_cases",
)

PLANTED_VERDICTS = table(
    {
        "record": RECORD,
        "check": category(*CHECKS),
        "kind": text(),
        "flagged": pa.Column("boolean", nullable=True),  # null: the check could not be scored
        "explanation": text(nullable=True),
    },
    key=["record"],
    name="planted_verdicts",
)
