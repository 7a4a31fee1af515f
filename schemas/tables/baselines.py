"""Embeddings, splits and predictions of the baselines. Vectors are in .npy files, never pickled."""

from schemas.tables.columns import NOTE_VERSION, RECORD, SECTION, SYMPTOM, category, count, number, table, text

NOTE_SENTENCES = table(
    {
        "record": RECORD,
        "version": NOTE_VERSION,
        "section": SECTION,
        "position": count(),
        "vector": count(description="row of the vectors file"),
    },
    key=["record", "version", "section", "position"],
)

SPAN_VECTORS = table(
    {"record": RECORD, "version": NOTE_VERSION, "symptom": SYMPTOM, "position": count(), "vector": count()},
    key=["record", "version", "symptom", "position"],
)

PREDICTIONS = table(
    {
        "record": count(description="test records only"),
        "system": text(),
        "condition": text(),
        "symptom": SYMPTOM,
        "seed": count(),
        "label": text(),
        "predicted": text(),
        "value": text(description="the class that the probability refers to"),
        "probability": number(low=0, high=1),
    },
    key=["record", "system", "condition", "symptom", "seed", "value"],
)

SPLIT = table({"record": RECORD, "part": category("train", "test")}, key=["record"])

TUNED = table(
    {
        "symptom": SYMPTOM,
        "setting": text(),
        "grid": text(),
        "combinations": count(),
        "colsample_bytree": number(),
        "gamma": number(),
        "learning_rate": number(),
        "max_depth": number(),
        "min_child_weight": number(),
        "n_estimators": number(),
        "subsample": number(),
        "score": number(nullable=True, description="mean F1 over folds (macro for more than two values)"),
    },
    key=["symptom", "setting"],
    description="Hyper-parameters that XGBoost-tab chose.",
)

RELIABILITY = table(
    {
        "system": text(),
        "condition": text(),
        "symptom": SYMPTOM,
        "value": text(description="the class that the probabilities refer to"),
        "bin": count(),
        "predicted": number(low=0, high=1, description="mean probability in the bin"),
        "observed": number(low=0, high=1, description="share of records that have the value"),
        "n": count(),
    },
    key=["system", "condition", "symptom", "value", "bin"],
    description="Reliability curves; seeds of a model are taken together.",
)
