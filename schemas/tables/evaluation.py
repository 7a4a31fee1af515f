"""Tables of written outputs and judged texts, cases with known truth that measure judges, and outside documents."""

import pandera.pandas as pa

from schemas.tables.columns import PROVENANCE, RECORD, category, count, table, text
from schemas.tables.records import ASSERTIONS, SPANS

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

PLANTED = table(
    {
        "case": count(),
        "step": text(description="the judge's step: entailment, omissions, facts, importance, citations"),
        "kind": text(description="own claim, other encounter's claim, negation turned, ..."),
        "document": text(),
        "text": text(),
        "truth": pa.Column(bool),
        "judged": pa.Column("boolean", nullable=True),
        "provenance": PROVENANCE,
    },
    key=["case"],
    name="planted",
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

PLANTED_VERDICTS = table(
    {
        "record": RECORD,
        "check": category(*CHECKS),
        "kind": text(),
        "flagged": pa.Column("boolean", nullable=True, description="null: the check could not be scored"),
        "explanation": text(nullable=True),
    },
    key=["record"],
    name="planted_verdicts",
)

ASSERTION_CASES = table(
    {
        "record": count(description="record of the note; numbers beyond the records' are planted"),
        **{name: SPANS.columns[name] for name in ("version", "symptom", "start", "end", "text", "section")},
        "note": text(),
        "origin": text(description="span of the simulated writer, or planted"),
        "sentence": text(nullable=True, description="the planted sentence, its phrase in brackets"),
        "truth": category(*ASSERTIONS),
        "assertion": SPANS.columns["assertion"],
    },
    name="assertion_cases",
    description="Phrases of which it is certain what they assert, with the annotator's reading.",
)


DOCUMENTS = table(
    {
        "document": text(),
        "content": text(description="JSON of a document: source, reference, outputs and more"),
    },
    key=["document"],
    name="documents",
)
