"""Tables of `vignette evaluate` and `audit`: evaluations of the user's own texts, and of judges."""

import pandera.pandas as pa

from schemas.tables import verdicts
from schemas.tables.columns import count, flag, number, table, text
from schemas.tables.evaluation import PLANTED
from schemas.tables.metrics import METRICS
from schemas.tables.note_qa import QUESTIONS

EVALUATED = table(
    {
        "record": count(description="number made from the document's id"),
        "document": text(),
        "content": text(),
    },
    key=["document"],
    name="evaluated",
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
    name="document_scores",
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
    name="system_comparisons",
    description="Paired comparison of two systems; columns as in `tasks.tracking.comparison.compare_all`.",
)

JUDGE_VERDICTS = table(
    {
        "judge": text(description="name of the judge"),
        "stage": text(description="the measure"),
        "document": text(),
        "system": text(),
        "item": text(description='section, or "all" for texts judged as a whole'),
        "metric": text(),
        "case": text(description="position of the claim, id of the fact or question; the same for all judges"),
        "text": text(),
        "judged": pa.Column("boolean", nullable=True, description="null: the judgement failed"),
    },
    key=["judge", "stage", "document", "system", "item", "metric", "case"],
    name="judge_verdicts",
    description="Verdicts of several judges on the same claims and facts.",
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
    name="unscored_outputs",
)
"""What could not be scored, and why: every document that a metric lacks has a row here."""

EVALUATION = {
    "metrics": METRICS,
    "judge": METRICS,
    "clinicians": METRICS,
    "comparisons": SYSTEM_COMPARISONS,
    "scores": DOCUMENT_SCORES,
    "questions": QUESTIONS,
    "planted": PLANTED,
    "unscored": UNSCORED_OUTPUTS,
    "judges": METRICS,
    "verdicts": JUDGE_VERDICTS,
}
"""The tables of an evaluation by file stem, but for those of single measures."""


def table_schema(stem: str) -> pa.DataFrameSchema:
    """The schema of a table of an evaluation; the table of a measure has its verdicts."""
    return EVALUATION.get(stem, verdicts.VERDICTS)


_OF_CASE = {
    "task": text(description="claims, omissions, citations, ..."),
    "kind": text(description="how the case was made"),
    "factor": text(description='what was changed that should not matter; "" for the case itself'),
    "document": text(),
}

VERDICTS = table(
    {
        "judge": text(description="label of the judge"),
        "case": text(description="the same for a case and its variants"),
        **_OF_CASE,
        "text": text(description="the claim, fact or statement that is judged"),
        "place": count(description="0: first in its call"),
        "truth": pa.Column(bool, description="the right answer"),
        "judged": pa.Column("boolean", nullable=True, description="null: the judgement failed"),
    },
    key=["judge", "case", "factor"],
    name="verdicts",
    description="One answer of a judge a row; every figure of a card is computed from these.",
)

CASES = table(
    {
        "id": text(),
        "case": text(),
        **_OF_CASE,
        "premise": text(description="the text to judge by"),
        "claim": text(),
        "call": text(description="claims of one call share it, in the order of the rows"),
        "truth": pa.Column(bool),
        "pair": text(description='id of a case that differs in one thing; "" for none'),
    },
    key=["id"],
    name="cases",
    description="What a judge is asked: cases of every task, and variants of claims with the same truth.",
)
