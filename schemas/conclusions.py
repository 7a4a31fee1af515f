"""The table of the papers' conclusions."""

from schemas.tables.columns import category, count, number, table, text

CONCLUSIONS = table(
    {
        "source": text(),
        "conclusion": text(description="what the paper concludes, in our words"),
        "test": category("more", "as much", "same", "pairs", description="what the difference has to be"),
        "margin": number(low=0, description="by which a difference may miss; our choice, 0 for `more` and `pairs`"),
        "difference": number(
            nullable=True,
            description="of the two compared values here; of pairs, the share in which the first value is larger, "
            "less a half; null if they are not at hand",
        ),
        "low": number(
            nullable=True, description="of a 95% interval, of independent sides: too wide for values of the same texts"
        ),
        "high": number(nullable=True),
        "n": count(description="smallest number of items behind one of the values; of pairs, their number"),
        "null_pass": number(
            nullable=True,
            low=0,
            high=1,
            description="share of results without the concluded effect that would be said to hold: 0.025 for a 95% "
            "interval, exact for pairs of a fair coin; null without an interval, which never holds",
        ),
        "verdict": category("holds", "does not hold", "cannot be told"),
        "basis": text(description="what our values rest on, as in reproduction tables"),
    },
    key=["source", "conclusion"],
    name="conclusions",
)
