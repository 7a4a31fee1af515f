"""A small handmade review draw: two notes with respiratory symptoms and one without."""

import json

import pandas as pd

from schemas.params.judges import Review
from tasks.domains.rules import rules_of
from tasks.people.rating_form import draw_notes, read_rubric

RULES = rules_of("respiratory")
RUBRIC = read_rubric(RULES.phrases)
_PLAIN = RULES.model_copy(update={"labels": {name: name.replace("_", " ") for name in RULES.labels}})
REVIEW = Review(with_symptoms=2, without_symptoms=1, practice=0, raters=["rater_1", "rater_2"])

_NOTE = (
    "**History**\nThe patient has had a severe cough for {days} days, worse at night, and "
    "denies any fever. The cough began "
    "after a cold and brings up little sputum. There is no shortness of breath at rest. "
    "The patient sleeps badly and has "
    "taken an over-the-counter syrup without effect. No recent travel, no sick "
    "contacts.\n\n**Physical Examination**\nTemperature "
    "36.8 °C, blood pressure 124/78 mmHg, pulse 76/min, saturation 98%. Lungs clear on auscultation, no wheezing, no "
    "crackles. Throat slightly red. Heart sounds regular, without murmur. No enlarged lymph nodes."
)
_COMPACT = (
    "**History**\nPt w/ sev cough x {days}d, worse noct, denies fever. Onset p cold, min "
    "sputum. No SOB @ rest. Poor sleep; OTC "
    "syrup w/o effect. No travel, no sick contacts.\n\n**Physical Examination**\nT 36.8, "
    "BP 124/78, HR 76, SpO2 98%. Lungs CTAB, no "
    "wheeze/crackles. Throat sl red. RRR, no m. No LAD."
)


def prompts() -> pd.DataFrame:
    """Three rows of the prompts table."""
    values = {"dyspnea": "no", "cough": "yes", "pain": "no", "fever": "none", "nasal": "no"}
    absent = dict.fromkeys(values, "no") | {"fever": "none"}
    respiratory = {
        "kind": "symptoms",
        "mention": ["cough", "fever"],
        "avoid": ["pain"],
        "values": values,
        "descriptors": {"cough": "severe", "fever": None},
        "causes": {},
        "conditions": ["asthma"],
        "single_prompt": "Write the clinical note of one consultation.\n\nThe note must mention these symptoms, "
        "as they are given here:\n- cough: yes, severe\n"
        "- fever: none\n\nThese symptoms must not be mentioned:\n- respiratory "
        "pain\n\nThe patient has these underlying health conditions:\n- asthma\n\nRules:\n- Leave out any suspected "
        "diagnosis and any assessment section.\n- You may invent context and details that the "
        "patient describes, but no "
        "further symptoms.\n- Do not state the patient's sex or age.",
    }
    other = {
        "kind": "unrelated",
        "mention": [],
        "avoid": [],
        "values": absent,
        "descriptors": {},
        "causes": {},
        "conditions": [],
        "single_prompt": "Write a short clinical note of the following consultation.",
    }
    rows = [respiratory, respiratory | {"conditions": ["asthma", "smoking"]}, other]
    frame = pd.DataFrame([_stored(row, record) for record, row in zip((4, 9, 12), rows, strict=True)])
    return frame.astype({"record": "int64", "call": "int64", "slot": "int64"})


def _stored(row: dict, record: int) -> dict:
    stored = {key: json.dumps(value) if not isinstance(value, str) else value for key, value in row.items()}
    return {"record": record, **stored, "instructions": "", "call": record, "slot": 0, "prompt": row["single_prompt"]}


PRACTISED = Review(with_symptoms=1, without_symptoms=1, practice=1, raters=["rater_1", "rater_2"])
"""One of the three notes is for practice."""


def drawn(note: str | None = None, review: Review = REVIEW) -> pd.DataFrame:
    """The draw of all three notes; ``note`` replaces their texts."""
    texts = [note if note is not None else _NOTE.format(days=days) for days in (3, 8, 5)]
    compact = [note if note is not None else _COMPACT.format(days=days) for days in (3, 8, 5)]
    notes = pd.DataFrame({"record": [4, 9, 12], "note": texts})
    compact_notes = pd.DataFrame({"record": [4, 9, 12], "compact": compact})
    return draw_notes(prompts(), notes, compact_notes, review, _PLAIN, seed=7)
