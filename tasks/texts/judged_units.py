"""Outside data in which people judged units of texts: K-QA (Manes and others 2024) and PriMock57.

K-QA has answers to questions. Physicians wrote claims of what a right answer says; three others say of each whether an
answer entails it, contradicts it, or does neither. PriMock57 (Papadopoulos Korfiatis and others 2022) has acted
consultations. A clinician cut automatic notes into statements and says of each whether it is correct; clinicians list
the facts that they want in a note, graded (Savkov and others 2022, "Consultation Checklists").
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from schemas.errors import SourceError
from tasks.texts.document import SOURCE, WHOLE, Document
from tasks.texts.files import read_rows

Marks = Mapping[str, tuple[str | None, float | None]]
"""Word and value of a verdict by mark."""
Rows = list[dict[str, Any]]
K_QA = "k_qa/judgements.csv"
PHYSICIANS = ("physician_1", "physician_2", "physician_3")
"""Columns of verdicts."""
ENTAILED: Marks = {"Entailment": ("entailed", 1.0), "Neutral": ("neutral", 0.0), "Contradiction": ("contradicted", 0.0)}
CONSULTATIONS, STATEMENTS = "primock57/consultations.jsonl", "primock57/statements.csv"
CHECKLISTS = "primock57/checklists.csv"
PRIMOCK57 = (CONSULTATIONS, STATEMENTS, CHECKLISTS)
CORRECT: Marks = {"c": ("correct", 1.0), "i": ("incorrect", 0.0)}
GRADES: Marks = {"c": ("critical", 1.0), "nc": ("non-critical", 0.0), "i": ("irrelevant", 0.0), "": (None, None)}
"""Words and values of the marks; a fact without a mark was not graded."""


def read_k_qa(folder: Path) -> tuple[list[Document], Rows]:
    """A document for each answer, headed by its question, and rows of VERDICTS: does it entail the claim.

    The claims are those of the document. Raises SourceError for a file without its columns, or another verdict.
    """
    file = folder / K_QA
    table = read_columns(file, "question", "system", "answer", "claim", *PHYSICIANS)
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
            rows += _units(file, marked, ENTAILED, judge=column.replace("_", " "), **about)
    return documents, rows


def read_primock57(folder: Path) -> tuple[list[Document], Rows, Rows]:
    """A document for each consultation with its automatic notes, and rows of VERDICTS on statements and on facts.

    The units of an output are its statements in order. Those of the source are facts, ``FACT`` or ``PARENT > FACT``;
    each list is another's: of clinician 1 or 2, the first or a revised one. A list that repeats another of the same
    consultation is left out. Raises SourceError for a file without its columns, or another mark.
    """
    told = read_columns(folder / CONSULTATIONS, "consultation", "transcript", "clinician_note")
    said = read_columns(folder / STATEMENTS, "consultation", "note", "statement", "correct")
    wanted = read_columns(folder / CHECKLISTS, "consultation", "clinician", "version", "parent", "fact", "importance")
    statements: Rows = []
    outputs: dict[str, dict[str, str]] = {}
    for (name, note), own in said.groupby(["consultation", "note"], sort=False):
        about = {"document": name, "system": f"note {note}", "metric": "claims_supported", "judge": "clinician"}
        marked = zip(own["statement"], own["correct"], strict=True)
        statements += _units(folder / STATEMENTS, marked, CORRECT, **about)
        outputs.setdefault(str(name), {})[f"note {note}"] = " ".join(own["statement"])
    facts: Rows = []
    lists = set[tuple[str, ...]]()
    for (name, clinician, version), own in wanted.groupby(["consultation", "clinician", "version"], sort=False):
        judge = f"clinician {clinician}{'' if version == '1' else ', revised'}"
        texts = own["fact"].where(own["parent"] == "", own["parent"] + " > " + own["fact"])
        if (found := (str(name), *texts, *own["importance"])) not in lists:
            about = {"document": name, "system": SOURCE, "metric": "importance", "judge": judge}
            marked = zip(texts, own["importance"], strict=True)
            facts += _units(folder / CHECKLISTS, marked, GRADES, prefix=f"{judge}/", **about)
        lists.add(found)
    documents = [
        Document(str(name), (text,), note, outputs=outputs.get(str(name), {}), dialogue=True)
        for name, text, note in zip(told["consultation"], told["transcript"], told["clinician_note"], strict=True)
    ]
    return documents, statements, facts


def read_columns(file: Path, *columns: str) -> pd.DataFrame:
    """The rows of a file as text. Raises SourceError for a file without one of the columns."""
    table = pd.DataFrame([dict(row.values) for row in read_rows(file).rows]).fillna("")
    if missing := [name for name in columns if name not in table]:
        raise SourceError(f"{file}: no column {', '.join(missing)}; found {', '.join(table)}")
    return table.astype(str)


def _units(file: Path, marked: Iterable[tuple[str, str]], marks: Marks, *, prefix: str = "", **about: Any) -> Rows:
    """Rows of VERDICTS on numbered units, each a text with its mark. Raises SourceError for a mark that is none."""
    rows = []
    for at, (text, mark) in enumerate(marked):
        if mark not in marks:
            raise SourceError(f"{file}: {text[:60]!r}: found mark {mark!r}; expected {', '.join(filter(None, marks))}")
        word, value = marks[mark]
        unit = {"item": WHOLE, "condition": "people", "unit": f"{prefix}{at}", "text": text}
        rows.append({**about, **unit, "verdict": word, "value": value})
    return rows
