"""Questions on a patient's record over time whose answers follow from its facts, to be answered from a summary alone.

EHRNoteQA asks questions of notes; here the answerer has the summary only, so that what was left out cannot be answered.
"""

from collections.abc import Iterator, Sequence

import pandas as pd

from tasks.network.visits import date_of
from tasks.text.language import capitalized
from tasks.visits.facts import Fact, Worder, facts_of

COLUMNS = ["patient", "kind", "wording", "right"]


def summary_questions(visits: pd.DataFrame, worder: Worder) -> pd.DataFrame:
    """Questions of all patients of the table of visits, with `COLUMNS`; ``right`` is the right answer."""
    rows = []
    for patient, own in visits.sort_values("visit").groupby("patient", sort=True):
        facts = facts_of(own.to_dict("records"), worder.network, worder.rules, worder.words)
        rows += [(int(str(patient)), *asked) for asked in _questions(facts, int(str(patient)), worder)]
    return pd.DataFrame(rows, columns=COLUMNS)


def _questions(facts: Sequence[Fact], patient: int, worder: Worder) -> Iterator[tuple[str, str, str]]:
    """Kind, wording and right answer of each question on one patient."""
    labels = worder.rules.labels
    if traits := [labels[fact.item] for fact in facts if fact.kind == "trait"]:
        yield "condition", "Which health conditions does the patient have?", f"{capitalized(', '.join(traits))}."
    for symptom in dict.fromkeys(fact.item for fact in facts if fact.kind == "episode"):
        yield "symptom", f"Did the patient have {labels[symptom]} at any time?", f"Yes, {labels[symptom]}."
    for treatment in dict.fromkeys(fact.item for fact in facts if fact.kind == "treatment"):
        days = [date_of(patient, fact.start) for fact in facts if fact.item == treatment]
        phrase = worder.words.decided({treatment: next(f.value for f in facts if f.item == treatment)})[treatment]
        name, _, rest = phrase.partition(" were ")
        wording = f"On which dates were {name} {rest}?" if rest else f"On which dates did it hold that {phrase}?"
        yield "treatment", wording, f"On {' and '.join(days)}."
