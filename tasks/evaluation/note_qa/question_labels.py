"""Returned question forms as labels of the question writer's verdicts: is the marked choice right?"""

import json

import pandas as pd

from schemas.tables.note_qa import LETTERS
from tasks.evaluation.forms.labels import label_table
from tasks.evaluation.note_qa.question_review import Reviews, RevisedQuestion


def question_labels(questions: pd.DataFrame, reviews: Reviews, provenance: str) -> pd.DataFrame:
    """HUMAN_LABELS of "the marked choice is right", which the model that wrote the QUESTIONS says of each of them.

    Label: the question was kept and the text of its right choice was not changed.
    """
    rows = questions[["question", "patient", "choices", "answer"]].itertuples(index=False, name=None)
    return label_table(
        ((name, True, _holds(reviews.get(name), choices, answer), patient) for name, patient, choices, answer in rows),
        provenance,
    )


def _holds(review: RevisedQuestion | None, choices: str, answer: str) -> bool | None:
    if review is None:
        return None
    before, now = json.loads(choices)[LETTERS.index(answer)], review.choices[LETTERS.index(review.answer)]
    return review.decision == "keep" and now.strip() == before.strip()
