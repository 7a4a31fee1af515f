"""Embeddings and predictions. Vectors themselves lie in .npy files beside these tables (never pickled)."""

from schemas.tables.columns import NOTE_VERSION, RECORD, SECTION, SYMPTOM, category, count, number, table, text

NOTE_SENTENCES = table(
    {
        "record": RECORD,
        "version": NOTE_VERSION,
        "section": SECTION,
        "position": count(),
        "vector": count(),  # row of the vectors file
    },
    key=["record", "version", "section", "position"],
    name="note_sentences",
)

SPAN_VECTORS = table(
    {"record": RECORD, "version": NOTE_VERSION, "symptom": SYMPTOM, "position": count(), "vector": count()},
    key=["record", "version", "symptom", "position"],
    name="span_vectors",
)

PREDICTIONS = table(
    {
        "record": RECORD,  # test records only
        "system": text(),
        "condition": text(),
        "symptom": SYMPTOM,
        "seed": count(),
        "label": text(),
        "predicted": text(),
        "value": text(),  # the class this row's probability is of
        "probability": number(low=0, high=1),
    },
    key=["record", "system", "condition", "symptom", "seed", "value"],
    name="predictions",
)

SPLIT = table({"record": RECORD, "part": category("train", "test")}, key=["record"], name="split")
