"""Returned omission forms as labels of the judge's verdicts: does a summary contain a fact?"""

import pandas as pd

from tasks.evaluation.forms.labels import label_table, majority


def omission_labels(
    facts: pd.DataFrame, omitted: pd.DataFrame, system: str, validations: pd.DataFrame, provenance: str
) -> pd.DataFrame:
    """HUMAN_LABELS of "the summary contains the fact", for all judged and graded facts; "partially" does not.

    ``facts`` are FACTS, ``omitted`` OMITTED, ``validations`` the clinicians' answers (`read_validations`) on a random
    sample of the facts.
    """
    mine = omitted[(omitted["system"] == system) & omitted["omitted"].notna()]
    judged = facts[facts["category"].notna()].merge(mine[["document", "fact", "omitted"]], on=["document", "fact"])
    labels = majority(validations.assign(holds=validations["included"] == "yes"), ["document", "fact"])
    items = zip(judged["document"], judged["fact"], judged["omitted"], strict=True)
    return label_table(
        ((f"{document}/{fact}", not gone, labels.get((document, fact)), document) for document, fact, gone in items),
        provenance,
    )
