"""Tables of DocLens, MED-OMIT and their calibration."""

import pandera.pandas as pa

from schemas.tables.columns import PROVENANCE, RECORD, category, count, number, table, text

JUDGED_METRICS = ("claim_recall", "claim_precision", "citation_recall", "citation_precision")
SOAP_PARTS = ("subjective", "objective_exam", "objective_results", "assessment_and_plan")

JUDGED = table(
    {
        "document": text(),  # record id, or the id of an outside document
        "system": text(),  # the model that wrote the judged text
        "condition": text(),  # evaluator and citation variant
        "item": text(),  # section, or "all" for texts judged as a whole
        "metric": category(*JUDGED_METRICS),
        "position": count(),
        "text": text(),  # claim, statement, or statement with the number of the citation
        "judged": pa.Column("boolean", nullable=True),  # null: the judgement failed
    },
    key=["document", "system", "condition", "item", "metric", "position"],
    name="judged",
)
"""One judgement of entailment a row; every DocLens score is computed from these."""

FACTS = table(
    {
        "document": text(),
        "fact": text(),  # F0, F1, ...
        "kind": category("medical", "access_and_social", "other"),
        "text": text(),
        "category": category("critical", "important", "other", nullable=True),
        "supports": text(),  # JSON list of diagnoses
        "refutes": text(),  # JSON list of diagnoses
        "uniqueness": number(low=0, high=1, nullable=True),  # the largest; null for a fact in no cluster
        "score": number(low=0, high=1, nullable=True),  # weight of its omission (paper's variant)
        "posterior_shift": number(low=0, high=1, nullable=True),  # by the network; null if it states no symptom
    },
    key=["document", "fact"],
    name="facts",
)

OMITTED = table(
    {
        "document": text(),
        "system": text(),
        "fact": text(),
        "omitted": pa.Column("boolean", nullable=True),
        "extent": category("whole", "part", nullable=True),  # of an omission; null where the judge gives none
    },
    key=["document", "system", "fact"],
    name="omitted",
)

PLANTED = table(
    {
        "case": count(),
        "step": text(),  # the judge's step: entailment, omissions, facts, importance, citations
        "kind": text(),  # own claim, other encounter's claim, negation turned, ...
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
