"""Notes on the form for the manual evaluation of spans."""

from schemas.tables.columns import NOTE_VERSION, RECORD, table, text

SPAN_REVIEW_NOTES = table(
    {"record": RECORD, "version": NOTE_VERSION, "text": text()},
    key=["record", "version"],
    name="span_review_notes",
)
