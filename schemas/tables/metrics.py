"""The long-form tables written by all evaluating stages."""

from schemas.tables.columns import PROVENANCE, RECORD, category, count, number, table, text

METRICS = table(
    {
        "stage": text(),
        "system": text(description="the measured model, judge or set of notes"),
        "condition": text(description="evidence setting, note version, prompt style, ..."),
        "item": text(description='symptom, section, aspect, ... or "all"'),
        "metric": text(),
        "value": number(nullable=True, description="null only if nothing could be scored"),
        "low": number(nullable=True, description="95% interval (docs/statistics.md); null where the method gives none"),
        "high": number(nullable=True),
        "n": count(),
        "unscored": count(),
        "seed": text(nullable=True, description="seed(s) of training and bootstrap"),
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
    description="Scores of single records, by which lineages are compared in pairs. Unscored rows are absent here.",
)

UNSCORED = table(
    {
        "record": text(description="record id, or the id of an outside document"),
        "step": text(),
        "reason": text(),
        "detail": text(nullable=True, description="the raw reply, if any"),
    },
    name="unscored",
)

BASES = ("recomputed", "closed form", "arithmetic", "sampled", "fitted", "stand-in", "absent")
"""What a reproduced figure rests on, see docs/papers.md."""

REPRODUCTION_ROWS = table(
    {
        "source": text(description="simsum, medomit, ehrnoteqa, doclens"),
        "table": text(),
        "row": text(),
        "column": text(),
        "published": number(nullable=True),
        "reproduced": number(nullable=True),
        "tolerance": number(nullable=True, low=0),
        "basis": category(*BASES),
        "note": text(nullable=True, description="the missing data (absent), or a printed misprint"),
    },
    key=["source", "table", "row", "column"],
    name="reproduction_rows",
    description="Rows without a verdict, which `tasks.reproduction` adds.",
)

REPRODUCTION = table(
    {
        **REPRODUCTION_ROWS.columns,
        "null_pass": number(
            nullable=True,
            low=0,
            high=1,
            description="share of figures without knowledge of the printed one that pass",
        ),
        "verdict": category("pass", "fail", "uninformative", "absent"),
    },
    key=["source", "table", "row", "column"],
    name="reproduction",
    description="Judged rows: reports/reproduction.csv.",
)
