"""Returned span forms as labels of the annotator's verdicts: is a symptom mentioned in a note?"""

from collections.abc import Sequence

import pandas as pd

from schemas.tables.columns import NOTE_VERSIONS
from tasks.evaluation.forms.labels import label_table, majority


def span_labels(
    records: pd.Series, spans: pd.DataFrame, counts: pd.DataFrame, symptoms: Sequence[str], provenance: str
) -> pd.DataFrame:
    """HUMAN_LABELS of "the note mentions the symptom", for both versions of each of ``records``.

    Verdict: a phrase (SPANS) was extracted. Label: the reader (``counts`` of `read_span_reviews`) left an extracted
    phrase or added a missing one.
    """
    held = counts["extracted"] - counts["incorrect"] + counts["missing"] > 0
    keys = ["record", "version", "symptom"]
    labels = majority(counts.assign(holds=held), keys)
    extracted = set(spans[keys].itertuples(index=False, name=None))
    items = [(int(r), v, s) for r in sorted(records.unique()) for v in NOTE_VERSIONS for s in symptoms]
    return label_table(
        ((f"{r}/{v}/{s}", (r, v, s) in extracted, labels.get((r, v, s)), str(r)) for r, v, s in items), provenance
    )
