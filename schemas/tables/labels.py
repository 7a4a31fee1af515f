"""Verdicts of a judge with the human labels of some of them."""

import pandera.pandas as pa

from schemas.tables.columns import PROVENANCE, flag, table, text

HUMAN_LABELS = table(
    {
        "item": text(),
        "judged": flag(),  # the verdict: something holds
        "label": pa.Column("boolean", nullable=True),  # what people say; null: not labelled
        "cluster": text(),  # the note or document of the item
        "provenance": PROVENANCE,  # what made the verdicts
    },
    key=["item"],
    name="human_labels",
)
"""All verdicts of one kind; labelled items are a random sample of them."""
