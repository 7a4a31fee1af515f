"""The long-form tables written by all evaluating stages."""

from schemas.tables.columns import PROVENANCE, RECORD, category, count, number, table, text

METRICS = table(
    {
        "stage": text(),
        "system": text(),  # the measured model, judge or set of notes
        "condition": text(),  # evidence setting, note version, prompt style, ...
        "item": text(),  # symptom, section, aspect, ... or "all"
        "metric": text(),
        "value": number(nullable=True),  # null only if nothing could be scored
        "low": number(nullable=True),  # 95% bootstrap interval
        "high": number(nullable=True),
        "n": count(),
        "unscored": count(),
        "seed": text(nullable=True),  # seed(s) of training and bootstrap
        "provenance": PROVENANCE,
    },
    key=["stage", "system", "condition", "item", "metric"],
    name="metrics",
)

SCORES = table(
    {
        "record": RECORD,
        "system": text(),
        "condition": text(),
        "item": text(),
        "metric": text(),
        "value": number(),
    },
    key=["record", "system", "condition", "item", "metric"],
    name="scores",
)
"""Scores of single records, by which lineages are compared in pairs. Unscored rows are absent here."""

UNSCORED = table(
    {
        "record": text(),  # record id, or the id of an outside document
        "step": text(),
        "reason": text(),
        "detail": text(nullable=True),  # the raw reply, if any
    },
    name="unscored",
)

BASES = ("exact", "sampled", "embedded", "fitted", "offline", "hosted", "absent")

REPRODUCTION_ROWS = table(
    {
        "source": text(),  # simsum, medomit, ehrnoteqa, doclens
        "table": text(),
        "row": text(),
        "column": text(),
        "published": number(nullable=True),
        "reproduced": number(nullable=True),
        "tolerance": number(nullable=True, low=0),
        "basis": category(*BASES),
        "note": text(nullable=True),  # the missing data (absent), or a printed misprint
    },
    key=["source", "table", "row", "column"],
    name="reproduction_rows",
)
"""Rows without a verdict, which `tasks.reproduction` adds."""

REPRODUCTION = table(
    {**REPRODUCTION_ROWS.columns, "verdict": category("pass", "fail", "absent")},
    key=["source", "table", "row", "column"],
    name="reproduction",
)
"""Judged rows: reports/reproduction.csv."""
