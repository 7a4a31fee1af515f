"""Planted answers, whose correct verdict is known: they measure the judge alone."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from schemas.tables.note_qa import LETTERS
from tasks.evaluation.note_qa.statements import Wording

_PLANTED = 803
_COLUMNS = ["patient", "question", "form", "variant", "output", "right"]
REFUSAL = "I am unable to answer this question."


def planted_answers(
    questions: pd.DataFrame, wordings: Mapping[str, Sequence[Wording]], n: int, *, free_text: bool, seed: int
) -> pd.DataFrame:
    """Right and wrong answers (PLANTED) to ``n`` random questions with known truth.

    Answers use the wording of a choice and another wording; for multiple choice also the letter alone. Wrong answers
    name a wrong choice. A refusal is planted as a wrong answer to answerable questions only, since its verdict on the
    others is debatable.
    """
    truth = questions[questions["origin"] == "truth"].sort_values("question", ignore_index=True)
    rng = np.random.default_rng([seed, _PLANTED])
    chosen = truth.iloc[np.sort(rng.permutation(len(truth))[:n])]
    rows = []
    for row in chosen.itertuples():
        choices = wordings[row.question]
        right = LETTERS.index(row.answer)
        wrong = int(rng.choice([i for i in range(len(LETTERS)) if i != right]))
        for form, variant, output, is_right in _variants(choices, right, wrong, free_text, row.answerable):
            rows.append((row.patient, row.question, form, variant, output, is_right))
    types = dict.fromkeys(_COLUMNS, "str") | {"right": "bool"}
    frame = pd.DataFrame(rows, columns=_COLUMNS).astype(types)
    return frame.sort_values(["question", "form", "variant"], ignore_index=True)


def _variants(
    choices: Sequence[Wording], right: int, wrong: int, free_text: bool, answerable: bool
) -> list[tuple[str, str, str, bool]]:
    found = []
    for name, i in (("right", right), ("wrong", wrong)):
        letter, wording = LETTERS[i], choices[i]
        found += [
            ("multiple_choice", f"{name}, letter", letter, i == right),
            ("multiple_choice", f"{name}, letter in a sentence", f"The correct answer is ({letter}).", i == right),
            ("multiple_choice", f"{name}, letter and text", f"{letter}: {wording.plain}", i == right),
            ("multiple_choice", f"{name}, text", f"{wording.plain}.", i == right),
        ]
        if free_text:
            framed = f"According to the notes: {wording.plain[0].lower()}{wording.plain[1:]}."
            found += [
                ("free_text", f"{name}, same words", f"{wording.plain}.", i == right),
                ("free_text", f"{name}, framed", framed, i == right),
                ("free_text", f"{name}, other words", f"{wording.other}.", i == right),
            ]
    refusals = ["multiple_choice", *(["free_text"] if free_text else [])] if answerable else []
    return found + [(form, "refusal", REFUSAL, False) for form in refusals]
