"""K-QA (Manes and others 2024) in the folder of outside data: answers to questions, judged by three physicians.

Physicians wrote claims of what a right answer says; three others say of each whether an answer entails it, contradicts
it, or does neither.
"""

from pathlib import Path
from typing import Any

from tasks.texts.document import WHOLE, Document
from tasks.texts.marked import Marks, marked_units, read_marked

FILE = "k_qa/judgements.csv"
PHYSICIANS = ("physician_1", "physician_2", "physician_3")
"""Columns of verdicts."""
MARKS: Marks = {"Entailment": ("entailed", 1.0), "Neutral": ("neutral", 0.0), "Contradiction": ("contradicted", 0.0)}


def read_k_qa(folder: Path) -> tuple[list[Document], list[dict[str, Any]]]:
    """A document for each answer, headed by its question, and rows of VERDICTS: does it entail the claim.

    The claims are those of the document. Raises SourceError for a file without its columns, or another verdict.
    """
    file = folder / FILE
    table = read_marked(file, "question", "system", "answer", "claim", *PHYSICIANS)
    documents, rows = [], []
    for number, ((question, system, answer), own) in enumerate(
        table.groupby(["question", "system", "answer"], sort=False), 1
    ):
        claims = tuple(own["claim"])
        told = {"claims": {WHOLE: claims}, "outputs": {system: answer}, "heading": question}
        documents.append(Document(str(number), (question,), "\n".join(claims), **told))
        for column in PHYSICIANS:
            about = {"document": str(number), "system": system, "metric": "claim_recall"}
            marked = zip(claims, own[column], strict=True)
            rows += marked_units(file, marked, MARKS, judge=column.replace("_", " "), **about)
    return documents, rows
