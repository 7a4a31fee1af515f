"""Tables of `vignette evaluate` and `audit`: evaluations of the user's own texts, and of judges."""

import pandera.pandas as pa

from schemas.tables import verdicts
from schemas.tables.columns import count, flag, number, table, text
from schemas.tables.metrics import METRICS
from schemas.tables.note_qa import QUESTIONS

EVALUATED = table(
    {
        "record": count(description="number made from the document's id"),
        "document": text(),
        "content": text(),
    },
    key=["document"],
)
"""Hash of the source and the reference of each document, by which two evaluations pair their scores."""
DOCUMENT_SCORES = table(
    {
        "record": count(description="number made from the document's id, by which lineages are compared"),
        "document": text(),
        "stage": text(),
        "system": text(),
        "condition": text(),
        "item": text(),
        "metric": text(),
        "value": number(),
    },
    key=["stage", "document", "system", "condition", "item", "metric"],
)

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
        "failed_both": count(description="documents that neither system has a score of"),
        "bound_low": number(nullable=True),
        "bound_high": number(nullable=True),
        "detectable": number(nullable=True, description="difference that is found with a power of 80%"),
        "note": text(),
    },
    key=["system_a", "system_b", "stage", "condition", "item", "metric"],
    description="Paired comparison of two systems; columns as in `tasks.tracking.comparison.compare_all`.",
)

NO_OUTPUT = "the data has no output"
"""Reason of a row of UNSCORED_OUTPUTS on an output that the data lacks, which no judge can score."""

UNSCORED_OUTPUTS = table(
    {
        "document": text(),
        "system": text(nullable=True, description="null: the row concerns all systems"),
        "method": text(description="the measure, or writing: the output is missing"),
        "step": text(),
        "reason": text(),
        "detail": text(nullable=True, description="the raw reply, if any"),
    },
)
"""What could not be scored, and why: every document that a metric lacks has a row here."""

EVALUATION = {
    "metrics": METRICS,
    "judge": METRICS,
    "clinicians": METRICS,
    "comparisons": SYSTEM_COMPARISONS,
    "scores": DOCUMENT_SCORES,
    "questions": QUESTIONS,
    "planted": verdicts.VERDICTS,
    "unscored": UNSCORED_OUTPUTS,
    "judges": METRICS,
    "verdicts": verdicts.VERDICTS,
}
"""The tables of an evaluation by file stem, but for those of single measures."""


def table_schema(stem: str) -> pa.DataFrameSchema:
    """The schema of a table of an evaluation; the table of a measure has its verdicts."""
    return EVALUATION.get(stem, verdicts.VERDICTS)


CASES = table(
    {
        "id": text(),
        **{name: verdicts.VERDICTS.columns[name] for name in ("document", "system", "condition", "metric", "unit")},
        **{name: verdicts.VERDICTS.columns[name] for name in ("text", "truth", "kind")},
        "premise": text(description="the text to judge by"),
        "call": text(description="claims of one call share it, in the order of the rows"),
        "pair": text(description='id of a case that differs in one thing; "" for none'),
    },
    key=["id"],
    description="What a judge is asked: cases of every task (metric), and variants of claims with the same truth. The "
    'condition is what was changed that should not matter, "" for the case itself; a case and its variants share their '
    "unit. In VERDICTS on them, the item is the place in the call, from 0.",
)
