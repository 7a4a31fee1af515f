"""Notes with and without a known error, and the verdicts of the consistency check."""

import pandera.pandas as pa

from schemas.tables.columns import RECORD, category, table, text

CHECKS = ("consistency", "compact")

PLANTED_CASES = table(
    {
        "record": RECORD,  # number of the case
        "check": category(*CHECKS),
        "kind": text(),  # kind of the planted error; "none" where nothing was planted
        "instructions": text(),  # what the note had to say of symptoms and conditions
        "note": text(),
        "compact": text(nullable=True),  # the compact version, for checks of compact versions
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
