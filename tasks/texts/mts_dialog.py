"""MTS-Dialog's correlation study (Ben Abacha, Yim, Fan and Lin, EACL 2023) in the folder of outside data.

100 dialogues of the validation set with a reference summary, the summaries of four models, and people's scores of each.
"""

from pathlib import Path

import pandas as pd

from schemas.errors import SourceError
from schemas.tables.verdicts import verdict_table
from tasks.texts.document import WHOLE, Document
from tasks.texts.judged_units import read_columns

SUMMARIES, SCORES = "mts_dialog/automatic_summaries.csv", "mts_dialog/manual_scores.csv"
SECTIONS = "mts_dialog/validation_set.csv"
FILES = (SUMMARIES, SCORES, SECTIONS)
HEADINGS = {
    "ALLERGY": "Allergies",
    "ASSESSMENT": "Assessment",
    "CC": "Chief complaint",
    "DIAGNOSIS": "Diagnosis",
    "DISPOSITION": "Disposition",
    "EDCOURSE": "Emergency department course",
    "EXAM": "Examination",
    "FAM/SOCHX": "Family and social history",
    "GENHX": "History of present illness",
    "GYNHX": "Gynecologic history",
    "IMAGING": "Imaging",
    "IMMUNIZATIONS": "Immunizations",
    "LABS": "Laboratory results",
    "MEDICATIONS": "Medications",
    "OTHER_HISTORY": "Other history",
    "PASTMEDICALHX": "Past medical history",
    "PASTSURGICAL": "Past surgical history",
    "PLAN": "Plan",
    "PROCEDURES": "Procedures",
    "ROS": "Review of systems",
}
"""The section headers of MTS-Dialog (Table 1 of the paper) in words."""
HUMAN = ("FactualRecall", "OmissionRate", "FactualPrecision", "HallucinationRate", "FactualF1")
"""People's scores, shares of facts: higher is better, but for the rates."""
_TEXTS = ("ID", "Dialogue", "Reference Summary", "Automatic Summary")


def read_study(folder: Path) -> tuple[list[Document], pd.DataFrame]:
    """The documents with their outputs ``model 1`` to ``model 4``, and people's scores of these as VERDICTS.

    Both files list the models one after the other. Raises SourceError where they do not fit together.
    """
    texts, scores = read_columns(folder / SUMMARIES, *_TEXTS), read_columns(folder / SCORES, *HUMAN)
    if len(texts) != len(scores):
        raise SourceError(
            f"{folder / SCORES}: {len(scores)} rows, but {SUMMARIES} has {len(texts)}; expected one for each"
        )
    number = texts.groupby("ID").cumcount() + 1
    keys = pd.DataFrame({"document": texts["ID"], "system": "model " + number.astype(str)})
    for _, model in texts.groupby(number):
        if model["ID"].tolist() != texts["ID"][number == 1].tolist():
            raise SourceError(f"{folder / SUMMARIES}: expected the summaries of the same documents for each model")
    headings: dict[str, str] = {}  # under which the summaries stand, if the file is there
    if (folder / SECTIONS).is_file():
        listed = read_columns(folder / SECTIONS, "ID", "section_header")
        headings = dict(zip(listed["ID"], listed["section_header"].replace(HEADINGS), strict=True))
    documents = [
        Document(
            str(name),
            (rows["Dialogue"].iloc[0],),
            rows["Reference Summary"].iloc[0],
            outputs=dict(zip(keys["system"][rows.index], rows["Automatic Summary"], strict=True)),
            dialogue=True,
            heading=headings.get(str(name)),
        )
        for name, rows in texts.groupby("ID", sort=False)
    ]
    about = {"condition": "people", "item": WHOLE, "unit": WHOLE, "text": ""}
    rows = [
        {**about, **key, "metric": name, "value": float(score)}
        for key, own in zip(keys.to_dict("records"), scores[list(HUMAN)].to_dict("records"), strict=True)
        for name, score in own.items()
    ]
    return documents, verdict_table(rows, judge="annotators")
