"""Reads the user's MIMIC-IV discharge summaries and EHRNoteQA.jsonl in place (both are credentialed: no copies).

The folder holds ``discharge.csv`` or ``discharge.csv.gz`` of MIMIC-IV-Note, with columns subject_id, hadm_id, charttime
and text, and ``EHRNoteQA.jsonl`` of PhysioNet, one JSON object per line.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from schemas.errors import SourceError
from schemas.params.measures import NoteQa
from schemas.tables.note_qa import LETTERS
from tasks.measures.note_qa.patients import level, reduce_whitespace, token_counter
from tasks.measures.note_qa.questions import question_row, question_table
from tasks.transport.json_lines import json_lines

_SAMPLE = 804
DISCHARGE = ("discharge.csv.gz", "discharge.csv")
QUESTIONS_FILE = "EHRNoteQA.jsonl"
SAMPLED = {(1, 1): 275, (1, 2): 275, (2, 1): 150, (2, 2): 150, (2, 3): 150}
"""Patients drawn for each (level, number of notes): EHRNoteQA, Table 2."""
_COLUMNS = ["subject_id", "hadm_id", "charttime", "text"]


def discharge_file(folder: Path | None) -> Path | None:
    """The discharge table in ``folder``, or None."""
    return next((folder / name for name in DISCHARGE if (folder / name).is_file()), None) if folder else None


def read_patients(file: Path, params: NoteQa, subjects: set[str] | None = None) -> pd.DataFrame:
    """Notes (PATIENT_NOTES, version normal) of the given subjects, or else of all patients with up to three notes.

    The table is read in chunks, since it is larger than the memory of many machines. Raises SourceError for missing
    columns.
    """
    count = token_counter(params.tokenizer)
    chunks = [_reduced(chunk, count) for chunk in _chunks(file, subjects)]
    notes = pd.concat(chunks, ignore_index=True) if chunks else pd.DataFrame(columns=["patient"])
    notes = notes.sort_values(["patient", "date", "note_id"], ignore_index=True)
    notes["position"] = notes.groupby("patient").cumcount()
    if subjects is None:
        notes = notes[notes.groupby("patient")["position"].transform("size") <= len(params.patients_by_notes)]
    columns = ["patient", "version", "position", "note_id", "date", "note", "tokens"]
    return notes[columns].astype({"position": "int64", "tokens": "int64"}).reset_index(drop=True)


def _chunks(file: Path, subjects: set[str] | None) -> Iterator[pd.DataFrame]:
    header = pd.read_csv(file, nrows=0).columns
    if missing := [name for name in _COLUMNS if name not in header]:
        raise SourceError(f"{file}: columns {missing} are missing; expected MIMIC-IV-Note's discharge table")
    for chunk in pd.read_csv(file, usecols=_COLUMNS, dtype=str, chunksize=20_000):
        yield chunk if subjects is None else chunk[chunk["subject_id"].isin(subjects)]


def _reduced(chunk: pd.DataFrame, count: Callable[[str], int]) -> pd.DataFrame:
    texts = [reduce_whitespace(text) for text in chunk["text"].fillna("")]
    return pd.DataFrame(
        {
            "patient": chunk["subject_id"].to_numpy(),
            "version": "normal",
            "note_id": chunk["hadm_id"].fillna("").to_numpy(),
            "date": chunk["charttime"].fillna("").str[:10].to_numpy(),
            "note": texts,
            "tokens": [count(text) for text in texts],
        }
    )


def sample_patients(notes: pd.DataFrame, params: NoteQa, *, seed: int) -> pd.DataFrame:
    """Notes of patients drawn at random by level and number of notes, up to the numbers in `SAMPLED` (Table 2)."""
    rng = np.random.default_rng([seed, _SAMPLE])
    totals = notes.groupby("patient").agg(tokens=("tokens", "sum"), notes=("position", "size")).sort_index()
    totals["level"] = [level(tokens, params.level_tokens) for tokens in totals["tokens"]]
    chosen: list[str] = []
    for (rank, size), wanted in SAMPLED.items():
        fits = totals.index[(totals["level"] == rank) & (totals["notes"] == size)]
        chosen += list(fits[np.sort(rng.permutation(len(fits))[:wanted])])
    return notes[notes["patient"].isin(chosen)].reset_index(drop=True)


def read_questions(file: Path, notes: pd.DataFrame, params: NoteQa) -> pd.DataFrame:
    """EHRNoteQA's questions (QUESTIONS) about the patients in ``notes``.

    Raises SourceError that names the line of a malformed question.
    """
    groups = {str(patient): own for patient, own in notes.groupby("patient")}
    return question_table(
        [
            question_row(name, patient, groups[patient], params, **read)
            for name, patient, read in _questions(file)
            if patient in groups
        ]
    )


def read_subjects(file: Path) -> set[str]:
    """Ids of the patients in EHRNoteQA's questions. Raises SourceError as `read_questions` does."""
    return {patient for _, patient, _ in _questions(file)}


def _questions(file: Path) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Name, patient and further columns of each question."""
    for number, read in json_lines(file):
        yield _question(f"{file}: line {number}", read, number)


def _question(where: str, read: Any, number: int) -> tuple[str, str, dict[str, Any]]:
    try:
        choices = [str(read[f"choice_{letter}"]) for letter in LETTERS]
        answer = str(read["answer"]).strip().upper()[:1]
        patient, wording = str(read["patient_id"]), str(read["question"])
    except (KeyError, TypeError) as error:
        raise SourceError(f"{where}: not a question of EHRNoteQA ({error!r})") from error
    if answer not in LETTERS:
        raise SourceError(f"{where}: answer is {read['answer']!r}, expected a letter A to E")
    known = {"origin": "outside", "kind": str(read.get("category", "outside")), "provenance": "EHRNoteQA"}
    name = f"{patient}/ehrnoteqa/{number:04d}"
    return name, patient, {**known, "wording": wording, "choices": choices, "answer": answer}
