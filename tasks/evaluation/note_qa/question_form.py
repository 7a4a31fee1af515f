"""The form in which clinicians remove and revise questions (EHRNoteQA, Section 3.3)."""

import hashlib
import json

import pandas as pd

from schemas.tables.note_qa import LETTERS
from tasks.evaluation.forms.page import render_page

FORMAT = "vignette-questions"


def form_id(questions: pd.DataFrame) -> str:
    """Names a set of questions by its content, so that a file returned for others is refused."""
    content = questions.sort_values("question")[["question", "wording", "choices", "answer"]].to_json(orient="values")
    return hashlib.sha256(content.encode()).hexdigest()[:12]


def render_question_form(questions: pd.DataFrame, notes: pd.DataFrame, reviewer: str) -> str:
    """HTML of the form for these questions (QUESTIONS), each beside its patient's notes (PATIENT_NOTES, normal)."""
    normal = notes[notes["version"] == "normal"].sort_values("position")
    by_patient = dict(iter(normal.groupby("patient")))
    items = [
        {
            "record": row.question,
            "notes": [{"head": f"Charted {n.date}", "text": n.note} for n in by_patient[row.patient].itertuples()],
            "wording": row.wording,
            "choices": json.loads(row.choices),
            "answer": row.answer,
            "reason": row.reason if isinstance(row.reason, str) else "",
        }
        for row in questions.sort_values("question").itertuples()
    ]
    data = {"format": FORMAT, "form": form_id(questions), "rater": reviewer, "noun": "question", "items": items}
    return render_page("Revising questions", "questions.js", data | {"letters": list(LETTERS)})
