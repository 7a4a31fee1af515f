"""K-QA (Manes and others 2024) in the folder of outside data: answers to questions, judged by three physicians.

Physicians wrote claims of what a right answer says; three others say of each whether an answer entails it, contradicts
it, or does neither.
"""

from pathlib import Path
from typing import Any

import pandas as pd

from schemas.errors import SourceError
from tasks.texts.document import WHOLE, Document
from tasks.texts.files import read_rows

FILE = "k_qa/judgements.csv"
PHYSICIANS = {f"physician_{number}": f"physician {number}" for number in (1, 2, 3)}
"""Judges by column."""
VERDICTS = {"Entailment": 1.0, "Neutral": 0.0, "Contradiction": 0.0}
_TEXTS = ("question", "system", "answer", "claim", "category")


def read_k_qa(folder: Path) -> tuple[list[Document], list[dict[str, Any]]]:
    """A document for each answer, headed by its question, and rows of VERDICTS: does it entail the claim.

    The claims are those of the document. Raises SourceError for a file without its columns, or another verdict.
    """
    file = folder / FILE
    table = pd.DataFrame([dict(row.values) for row in read_rows(file).rows])
    if missing := [name for name in (*_TEXTS, *PHYSICIANS) if name not in table]:
        raise SourceError(f"{file}: no column {', '.join(missing)}; found {', '.join(table)}")
    documents, rows = [], []
    for number, (_, own) in enumerate(table.groupby(["question", "system", "answer"], sort=False), 1):
        first, claims = own.iloc[0], tuple(own["claim"])
        documents.append(
            Document(
                str(number),
                (first["question"],),
                "\n".join(claims),
                claims={WHOLE: claims},
                outputs={first["system"]: first["answer"]},
                heading=first["question"],
            )
        )
        about = {"document": str(number), "system": first["system"], "item": WHOLE, "condition": "people"}
        for at, claim in enumerate(own.to_dict("records")):
            unit = {**about, "metric": "claim_recall", "unit": str(at), "text": claim["claim"]}
            for column, physician in PHYSICIANS.items():
                said = claim[column]
                if said not in VERDICTS:
                    where = f"{file}: claim {claim['claim'][:60]!r}, {column}"
                    raise SourceError(f"{where}: found {said!r}; expected {', '.join(VERDICTS)}")
                judged = {"value": VERDICTS[said], "verdict": said.lower(), "kind": claim["category"]}
                rows.append({**unit, **judged, "judge": physician})
    return documents, rows
