"""A patient's notes as text for a prompt: oldest first, each with ids and date."""

import pandas as pd

_ISO_DATE = r"\d{4}-\d{2}-\d{2}"
NO_NOTES = "(no notes are given)"


def notes_text(notes: pd.DataFrame) -> str:
    """Join the notes of one patient and version (rows of PATIENT_NOTES), ordered and headed as in EHRNoteQA."""
    blocks = [
        f"<note>\nPatient: {row.patient}\nNote: {row.note_id}\nDate: {row.date}\n\n{row.note}\n</note>"
        for row in notes.sort_values("position").itertuples()
    ]
    return "\n".join(blocks) or NO_NOTES


def are_dated(notes: pd.DataFrame) -> bool:
    """Whether notes have ISO dates, and not only numbers of visits."""
    return bool(notes["date"].str.fullmatch(_ISO_DATE).any())


def texts_by_patient(notes: pd.DataFrame) -> dict[tuple[str, str], str]:
    """`notes_text` of every (patient, version), and `NO_NOTES` for (patient, "none")."""
    texts = {key: notes_text(group) for key, group in notes.groupby(["patient", "version"])}
    return {**texts, **{(patient, "none"): NO_NOTES for patient in notes["patient"].unique()}}
