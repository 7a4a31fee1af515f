"""What people are shown and say: notes of the review, notes of the span form, pairs of outputs."""

from schemas.tables.columns import NOTE_VERSION, RECORD, category, flag, number, table, text

ASPECTS = (
    "consistency",
    "realism_history",
    "realism_physical_examination",
    "clinical_accuracy",
    "compact_content",
    "compact_readability",
)
"""Rated aspects of a note, in the order of SimSUM's Table 4; the first is computed from penalties."""
SCALES = ASPECTS[1:]

REVIEW_NOTES = table(
    {
        "record": RECORD,
        "type": category("type_1", "type_2", description="with and without symptoms of the domain"),
        "prompt": text(),
        "note": text(),
        "compact": text(),
        "practice": flag(description="for practice: rated first, not counted"),
        "parts": text(description="JSON list of {part, title, rule, items: [{item, label}]}"),
    },
    key=["record"],
)

SPAN_REVIEW_NOTES = table(
    {"record": RECORD, "version": NOTE_VERSION, "text": text()},
    key=["record", "version"],
)

PREFERENCE_PAIRS = table(
    {
        "pair": text(description="number of the pair"),
        "document": text(),
        "item": text(description="section"),
        **{f"{name}_{side}": text() for side in ("first", "second") for name in ("system", "text")},
        **{f"{name}_{side}": number() for side in ("first", "second") for name in ("claim_recall", "rougeL_r")},
        "reference": text(),
        "claims": text(description="of the reference, JSON"),
    },
    key=["pair"],
    description="Outputs of a section that claim recall and ROUGE-L recall rank in opposite order.",
)
