"""Tables of written outputs and judged texts, cases with known truth that measure judges, and outside documents."""

import pandera.pandas as pa

from schemas.tables.columns import PROVENANCE, RECORD, category, count, table, text

JUDGED_METRICS = ("claim_recall", "claim_precision", "citation_recall", "citation_precision")

RECORDED_CLAIMS = table(
    {
        "document": text(),
        "system": text(description="the model that wrote the judged text"),
        "item": text(description='section, or "all" for texts judged as a whole'),
        "metric": category(*JUDGED_METRICS),
        "position": count(),
        "text": text(description="claim, statement, or statement with the number of the citation"),
        "judged": pa.Column("boolean", nullable=True, description="null: the judgement failed"),
        "reason": text(nullable=True, description="the model's explanation"),
        "judged_rules": pa.Column("boolean", nullable=True, description="verdict of the rules; claims only"),
    },
    key=["document", "system", "item", "metric", "position"],
    name="recorded_claims",
    description="The recorded strong model's verdicts and reasons. Texts: ACI-BENCH (Yim et al. 2023, CC BY 4.0), "
    "claims of references: DocLens.",
)

CITED_OUTPUTS = table(
    {"record": RECORD, "cited": text(), "provenance": PROVENANCE},
    key=["record"],
    name="cited_outputs",
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
    name="planted_cases",
)

DOCUMENTS = table(
    {
        "document": text(),
        "content": text(description="JSON of a document: source, reference, outputs and more"),
    },
    key=["document"],
    name="documents",
)
