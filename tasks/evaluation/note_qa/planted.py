"""Answers written for the judge: their right verdict is known, so that they measure the judge and nothing else."""

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
    """Right and wrong answers (schema PLANTED) to ``n`` of the questions with known truth.

    Right and wrong ones come in the words of the choices and in others; with choices also by letter alone. Wrong ones
    take another choice. A refusal is wrong where the notes tell the answer; elsewhere it is left out as unclear.
    """
    truth = questions[questions["origin"] == "truth"].sort_values("question", ignore_index=True)
    rng = np.random.default_rng([seed, _PLANTED])
    chosen = truth.iloc[np.sort(rng.permutation(len(truth))[:n])]
    rows = []
    for row in chosen.itertuples():
        told = wordings[row.question]
        right = LETTERS.index(row.answer)
        wrong = int(rng.choice([i for i in range(len(LETTERS)) if i != right]))
        for form, variant, output, is_right in _variants(told, right, wrong, free_text, row.answerable):
            rows.append((row.patient, row.question, form, variant, output, is_right))
    types = dict.fromkeys(_COLUMNS, "str") | {"right": "bool"}
    frame = pd.DataFrame(rows, columns=_COLUMNS).astype(types)
    return frame.sort_values(["question", "form", "variant"], ignore_index=True)


def _variants(
    told: Sequence[Wording], right: int, wrong: int, free_text: bool, answerable: bool
) -> list[tuple[str, str, str, bool]]:
    found = []
    for name, i in (("right", right), ("wrong", wrong)):
        letter, wording = LETTERS[i], told[i]
        found += [
            ("multiple_choice", f"{name}, letter", letter, i == right),
            ("multiple_choice", f"{name}, letter in a sentence", f"The correct answer is ({letter}).", i == right),
            ("multiple_choice", f"{name}, letter and text", f"{letter}: {wording.plain}", i == right),
            ("multiple_choice", f"{name}, text", f"{wording.plain}.", i == right),
        ]
        if free_text:
            found += [
                ("free_text", f"{name}, same words", f"{wording.plain}.", i == right),
                (
                    "free_text",
                    f"{name}, framed",
                    f"According to the notes: {wording.plain[0].lower()}{wording.plain[1:]}.",
                    i == right,
                ),
                ("free_text", f"{name}, other words", f"{wording.other}.", i == right),
            ]
    refusals = ["multiple_choice", *(["free_text"] if free_text else [])] if answerable else []
    return found + [(form, "refusal", REFUSAL, False) for form in refusals]
