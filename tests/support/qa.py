"""A small lineage for question answering: drawn prompts, and notes written from them by templates."""

import json

import numpy as np
import pandas as pd

from schemas.params.measures import NoteQa
from tasks.measures.note_qa.questions import question_table

LABELS = {
    "dyspnea": "dyspnea",
    "cough": "cough",
    "pain": "respiratory pain",
    "fever": "fever",
    "nasal": "nasal symptoms",
}
DESCRIPTORS = {
    "dyspnea": ["at night", "during exercise", "severe", "chronic"],
    "cough": ["dry", "productive", "severe", "constant"],
    "pain": ["localized on right side", "mild", "associated with breathing"],
    "fever": [],
    "nasal": [],
}
PARAMS = NoteQa(patients_by_notes=[3, 3, 3], truth_questions=3, planted_questions=12, judge_takes=2)


def lineage(records: int = 60, seed: int = 3) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """(prompts, notes, compact notes, spans) of ``records`` records, all about respiratory symptoms."""
    rng = np.random.default_rng(seed)
    rows = [_prompt(record, rng) for record in range(records)]
    prompts = pd.DataFrame(rows).astype({"record": "int64", "call": "int64", "slot": "int64"})
    texts = [_note(row) for row in rows]
    notes = pd.DataFrame({"record": range(records), "attempt": 0, "note": texts, "consistent": True, "provenance": "t"})
    shortened = [text.replace("The patient", "Pt").replace("reports", "c/o") for text in texts]
    compact = pd.DataFrame({"record": range(records), "compact": shortened, "provenance": "t"})
    spans = pd.DataFrame({"record": pd.Series(dtype="int64"), "symptom": pd.Series(dtype="str")})
    return prompts, notes.astype({"record": "int64", "attempt": "int64"}), compact.astype({"record": "int64"}), spans


def _prompt(record: int, rng: np.random.Generator) -> dict:
    values = {name: str(rng.choice(["yes", "no"])) for name in LABELS}
    values["fever"] = str(rng.choice(["high", "low", "none"]))
    mention = [name for name in LABELS if rng.random() < 0.7]
    described = {n: str(rng.choice(DESCRIPTORS[n])) if DESCRIPTORS[n] and values[n] == "yes" else None for n in mention}
    fields = {
        "mention": mention,
        "avoid": [name for name in LABELS if name not in mention],
        "values": values,
        "descriptors": described,
        "causes": {},
        "conditions": sorted(set(rng.choice(["asthma", "smoking"], size=2))) if rng.random() < 0.5 else [],
    }
    stored = {name: json.dumps(value) for name, value in fields.items()}
    return {
        "record": record,
        "kind": "symptoms",
        **stored,
        "instructions": "",
        "call": record,
        "slot": 0,
        "prompt": "p",
        "single_prompt": "p",
    }


def _note(row: dict) -> str:
    values, described = json.loads(row["values"]), json.loads(row["descriptors"])
    said = []
    for name in json.loads(row["mention"]):
        value, label = values[name], LABELS[name]
        if value in ("no", "none"):
            said.append(f"The patient denies {label}.")
        elif value == "yes":
            said.append(
                f"The patient reports {label}" + (f", described as {described[name]}." if described[name] else ".")
            )
        else:
            said.append(f"There is a {value} fever.")
    return (
        "**History**\n"
        + "\n\n".join(said)
        + "\n\n**Physical Examination**\nThe abdomen is soft. Mild headache reported."
    )


def questions_by_hand() -> pd.DataFrame:
    """Three generated questions on two patients."""
    choices = ["Dry cough", "Productive cough", "No cough", "No change of cough", "No fever"]
    rows = [
        {
            "question": name,
            "patient": name.split("/")[0],
            "origin": "generated",
            "kind": "generated",
            "answerable": True,
            "notes": 1,
            "tokens": 10,
            "level": 1,
            "wording": f"What does the note say of cough ({name})?",
            "choices": json.dumps(choices),
            "answer": "A",
            "reason": "it says so",
            "provenance": "t",
        }
        for name in ("p1/generated/1", "p1/generated/2", "p2/generated/1")
    ]
    return question_table(rows)
