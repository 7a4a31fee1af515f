"""Returned ratings as labels of the model's verdicts as a rater: does a note follow an instruction of its prompt?"""

import json

import pandas as pd

from tasks.evaluation.forms.labels import label_table


def rating_labels(drawn: pd.DataFrame, ratings: pd.DataFrame, penalties: pd.DataFrame, provenance: str) -> pd.DataFrame:
    """HUMAN_LABELS of "the note follows the instruction", for each possible penalty of the notes that the model rated.

    ``drawn`` are REVIEW_NOTES; ``ratings`` (RATINGS) and ``penalties`` (PENALTIES) those of people and model. Verdict
    and label: no penalty was given, by the model and by most people.
    """
    rated = ratings[["rater", "rater_kind", "record"]].drop_duplicates()
    given = set(penalties[["rater", "record", "part", "item"]].itertuples(index=False, name=None))
    models = rated[rated["rater_kind"] == "model"].set_index("record")["rater"].to_dict()
    people = rated[rated["rater_kind"] == "person"].groupby("record")["rater"].apply(list).to_dict()
    items = []
    for note in drawn[drawn["record"].isin(list(models))].to_dict("records"):
        record = note["record"]
        for part, item in _instructions(note["parts"]):
            against = [(rater, record, part, item) in given for rater in people.get(record, [])]
            judged = (models[record], record, part, item) not in given
            label = 2 * sum(against) < len(against) if against else None
            items.append((f"{record}/{part}/{item}", judged, label, str(record)))
    return label_table(items, provenance)


def _instructions(parts: str) -> list[tuple[str, str]]:
    return [(part["part"], item["item"]) for part in json.loads(parts) for item in part["items"]]
