"""Long-form tables of the evaluating stages (metrics, scores, unscored), reproduced figures and papers' conclusions."""

import pandas as pd
import pandera.pandas as pa

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
    description="Scores of single records, by which lineages are compared in pairs. Unscored rows are absent here.",
)

UNSCORED = table(
    {
        "record": text(description="record id, or the id of an outside document"),
        "step": text(),
        "reason": text(),
        "detail": text(nullable=True, description="the raw reply, if any"),
    },
)

BASES = ("recomputed", "closed form", "arithmetic", "sampled", "stand-in", "absent")
"""What a reproduced figure rests on, see docs/papers.md; ``stand-in`` is followed by the model: "stand-in: gpt-4o"."""


def basis_kind(basis: pd.Series) -> pd.Series:
    """The entry of `BASES` of each basis: without the model."""
    return basis.str.partition(":")[0]


REPRODUCTION = table(
    {
        "source": text(description="simsum, medomit, ehrnoteqa, doclens"),
        "table": text(),
        "row": text(),
        "column": text(),
        "published": number(nullable=True),
        "reproduced": number(nullable=True),
        "tolerance": number(nullable=True, low=0),
        "basis": text(
            checks=pa.Check.str_matches(rf"^({'|'.join(BASES)})$".replace("stand-in", "stand-in: .+")),
            description=f"{', '.join(BASES)}; a stand-in is followed by the model",
        ),
        "note": text(nullable=True, description="the missing data (absent), or a printed misprint"),
        "verdict": category("pass", "fail", "absent"),
    },
    key=["source", "table", "row", "column"],
    description="Printed figures beside ours, judged: reports/reproduction.csv.",
)


CONCLUSIONS = table(
    {
        "source": text(),
        "conclusion": text(description="what the paper concludes, in our words"),
        "test": category(
            *("more", "as much", "same", "not significant", "pairs"), description="what the difference has to be"
        ),
        "margin": number(low=0, description="by which a difference may miss; our choice, 0 for `more` and `pairs`"),
        "difference": number(
            nullable=True,
            description="of the two compared values here; of pairs, the share in which the first value is larger, "
            "less a half; null if they are not at hand",
        ),
        "low": number(nullable=True, description="of a 95% interval"),
        "high": number(nullable=True),
        "n": count(description="smallest number of items behind one of the values; of pairs, their number"),
        "interval": text(
            description="paired, of one value, or of independent values, which is too wide for values of the same "
            "items; then with the reason"
        ),
        "verdict": category("holds", "does not hold", "cannot be told"),
        "basis": text(description="what our values rest on, as in reproduction tables"),
    },
    key=["source", "conclusion"],
)
