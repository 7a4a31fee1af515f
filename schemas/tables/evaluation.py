"""Tables of written outputs and judged texts, cases with known truth that measure judges, and outside documents."""

from schemas.tables.columns import PROVENANCE, RECORD, category, count, table, text

CITED_OUTPUTS = table(
    {"record": RECORD, "cited": text(), "provenance": PROVENANCE},
    key=["record"],
)


CHECKS = ("consistency", "compact")

PLANTED_CASES = table(
    {
        "record": count(description="number of the case"),
        "check": category(*CHECKS),
        "kind": text(description='kind of the planted error; "none" where nothing was planted'),
        "instructions": text(description="what the note had to say of symptoms and conditions"),
        "note": text(),
        "compact": text(nullable=True, description="the compact version, for checks of compact versions"),
    },
    key=["record"],
)

DOCUMENTS = table(
    {
        "document": text(),
        "content": text(description="JSON of a document: source, reference, outputs and more"),
    },
    key=["document"],
)
