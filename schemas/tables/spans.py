"""Symptom spans."""

from schemas.tables.columns import NOTE_VERSION, RECORD, SECTION, SYMPTOM, category, count, table, text

MATCH_KINDS = ("exact", "normalised", "elided", "corrected", "published")

SPANS = table(
    {
        "record": RECORD,
        "version": NOTE_VERSION,
        "symptom": SYMPTOM,
        "start": count(),  # characters into the note, 0-based
        "end": count(),  # exclusive
        "text": text(),  # always note[start:end]
        "section": SECTION,
        "matched": category(*MATCH_KINDS),
    },
    name="spans",
)
"""Sorted by record, version, start, end, symptom. One stretch may carry several symptoms."""

CORRECTED_SPANS = table(
    {
        "record": RECORD,
        "version": NOTE_VERSION,
        "symptom": text(nullable=True),  # null: no span was found in this note
        "start": count(),
        "end": count(),
        "text": text(nullable=True),
    },
    name="corrected_spans",
)
"""Spans as a human reader left them, one row for each; sorted by record, version, start and end."""
