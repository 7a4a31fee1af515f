"""PriMock57 (Papadopoulos Korfiatis and others 2022) in the folder of outside data: acted consultations.

A clinician cut automatic notes into statements and says of each whether it is correct; clinicians list the facts that
they want in a note, graded (Savkov and others 2022, "Consultation Checklists").
"""

from pathlib import Path
from typing import Any

from tasks.texts.document import SOURCE, Document
from tasks.texts.marked import Marks, marked_units, read_marked

CONSULTATIONS, STATEMENTS = "primock57/consultations.jsonl", "primock57/statements.csv"
CHECKLISTS = "primock57/checklists.csv"
FILES = (CONSULTATIONS, STATEMENTS, CHECKLISTS)
CORRECT: Marks = {"c": ("correct", 1.0), "i": ("incorrect", 0.0)}
GRADES: Marks = {"c": ("critical", 1.0), "nc": ("non-critical", 0.0), "i": ("irrelevant", 0.0), "": (None, None)}
"""Words and values of the marks; a fact without a mark was not graded."""
Rows = list[dict[str, Any]]


def read_primock57(folder: Path) -> tuple[list[Document], Rows, Rows]:
    """A document for each consultation with its automatic notes, and rows of VERDICTS on statements and on facts.

    The units of an output are its statements in order. Those of the source are facts, ``FACT`` or ``PARENT > FACT``;
    each list is another's: of clinician 1 or 2, the first or a revised one. A list that repeats another of the same
    consultation is left out. Raises SourceError for a file without its columns, or another mark.
    """
    told = read_marked(folder / CONSULTATIONS, "consultation", "transcript", "clinician_note")
    said = read_marked(folder / STATEMENTS, "consultation", "note", "statement", "correct")
    wanted = read_marked(folder / CHECKLISTS, "consultation", "clinician", "version", "parent", "fact", "importance")
    statements: Rows = []
    outputs: dict[str, dict[str, str]] = {}
    for (name, note), own in said.groupby(["consultation", "note"], sort=False):
        about = {"document": name, "system": f"note {note}", "metric": "claims_supported", "judge": "clinician"}
        marked = zip(own["statement"], own["correct"], strict=True)
        statements += marked_units(folder / STATEMENTS, marked, CORRECT, **about)
        outputs.setdefault(str(name), {})[f"note {note}"] = " ".join(own["statement"])
    facts: Rows = []
    lists = set[tuple[str, ...]]()
    for (name, clinician, version), own in wanted.groupby(["consultation", "clinician", "version"], sort=False):
        judge = f"clinician {clinician}{'' if version == '1' else ', revised'}"
        texts = own["fact"].where(own["parent"] == "", own["parent"] + " > " + own["fact"])
        if (found := (str(name), *texts, *own["importance"])) not in lists:
            about = {"document": name, "system": SOURCE, "metric": "importance", "judge": judge}
            marked = zip(texts, own["importance"], strict=True)
            facts += marked_units(folder / CHECKLISTS, marked, GRADES, prefix=f"{judge}/", **about)
        lists.add(found)
    documents = [
        Document(str(name), (text,), note, outputs=outputs.get(str(name), {}), dialogue=True)
        for name, text, note in zip(told["consultation"], told["transcript"], told["clinician_note"], strict=True)
    ]
    return documents, statements, facts
