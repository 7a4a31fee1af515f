"""Tables of an evaluation of the user's own texts."""

import pandera.pandas as pa

from schemas.tables.columns import RECORD, category, count, flag, number, table, text
from schemas.tables.note_qa import FORMS

DOCUMENT_SCORES = table(
    {
        "record": RECORD,  # number made from the document's id, by which lineages are compared
        "document": text(),
        "stage": text(),
        "system": text(),
        "condition": text(),
        "item": text(),
        "metric": text(),
        "value": number(),
    },
    key=["stage", "document", "system", "condition", "item", "metric"],
    name="document_scores",
)

CLAIMS = table(
    {
        "document": text(),
        "system": text(),
        "condition": text(),
        "item": text(),
        "metric": text(),
        "position": count(),
        "text": text(),
        "judged": pa.Column("boolean", nullable=True),
        "reason": text(nullable=True),  # the judge's explanation, if it gave one
    },
    key=["document", "system", "condition", "item", "metric", "position"],
    name="claims",
)
"""JUDGED with reasons."""

OMITTED_FACTS = table(
    {
        "document": text(),
        "system": text(),
        "fact": text(),
        "kind": text(),
        "text": text(),
        "category": text(nullable=True),
        "score": number(nullable=True),
        "supports": text(),
        "refutes": text(),
        "omitted": pa.Column("boolean", nullable=True),
    },
    key=["document", "system", "fact"],
    name="omitted_facts",
)
"""Every fact of a source, and whether a system's output omits it."""

DIFFERENTIALS = table(
    {
        "document": text(),
        "diagnosis": text(),
        "likelihood": category("probable", "possible", "unlikely"),
    },
    key=["document", "diagnosis"],
    name="differentials",
)
"""Possible diagnoses given the source, from which MED-OMIT weighs its facts."""

ANSWERED = table(
    {
        "document": text(),
        "system": text(),  # whose output was answered from, or "(source)"
        "question": text(),  # id
        "form": category(*FORMS),
        "wording": text(),
        "right": text(),
        "answer": text(nullable=True),
        "score": number(nullable=True),  # share of the judge's takes that accept the answer
    },
    key=["document", "system", "question", "form"],
    name="answered",
)
"""Every question about a source, its answer from each system's output, and the judge's verdict."""

SYSTEM_COMPARISONS = table(
    {
        "system_a": text(),
        "system_b": text(),
        **{name: text() for name in ("stage", "condition", "item", "metric")},
        **{name: number(nullable=True) for name in ("a", "b", "difference", "low", "high", "p")},
        "changed": flag(),
        "n": count(),
        "failed_a": count(),
        "failed_b": count(),
        "bound_low": number(nullable=True),
        "bound_high": number(nullable=True),
        "note": text(),
    },
    key=["system_a", "system_b", "stage", "condition", "item", "metric"],
    name="system_comparisons",
)
"""Paired comparison of two systems; columns as in `tasks.tracking.comparison.compare`."""
