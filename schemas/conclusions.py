"""The table of the papers' conclusions."""

from schemas.tables.columns import category, number, table, text

CONCLUSIONS = table(
    {
        "source": text(),
        "conclusion": text(description="what the paper concludes, in our words"),
        "test": category("more", "as much", "same", description="what the difference has to be"),
        "difference": number(
            nullable=True, description="of the two compared values here; null if they are not at hand"
        ),
        "low": number(nullable=True),
        "high": number(nullable=True),
        "verdict": category("holds", "does not hold", "cannot be told"),
        "basis": text(description="what our values rest on, as in reproduction tables"),
    },
    key=["source", "conclusion"],
    name="conclusions",
)
