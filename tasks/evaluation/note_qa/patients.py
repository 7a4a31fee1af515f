"""Patients with several encounters, out of simulated records."""

import json
from collections.abc import Callable
from datetime import date, timedelta

import numpy as np
import pandas as pd

from schemas.params.note_qa import NoteQa
from tasks.evaluation.note_qa.text_length import reduce_whitespace, token_counter

_PATIENTS = 801
_FIRST_DAY, _DAYS = date(2022, 1, 3), 700
_GAP = (21, 240)
"""Days between two visits of a patient."""


def simulated_patients(
    prompts: pd.DataFrame, notes: pd.DataFrame, compact: pd.DataFrame, params: NoteQa, *, seed: int
) -> pd.DataFrame:
    """Draw patients (schema PATIENT_NOTES) with as many notes each as ``params.patients_by_notes`` says.

    The encounters of one patient are records with the same underlying conditions: a network draws all else
    independently given these, so that such records are the same patient's conditions with the rest drawn again. Only
    notes about respiratory symptoms take part, and none that a consistency check still flags. Where there are too few
    records for all patients asked for, those with most notes are filled first.
    """
    kept = notes.loc[notes["consistent"], ["record", "note"]].merge(compact[["record", "compact"]], on="record")
    rows = prompts.loc[prompts["kind"] == "symptoms", ["record", "conditions"]].merge(kept, on="record")
    rows["conditions"] = [", ".join(sorted(json.loads(listed))) for listed in rows["conditions"]]
    rng = np.random.default_rng([seed, _PATIENTS])
    groups = {
        name: list(rng.permutation(group.sort_values("record").index)) for name, group in rows.groupby("conditions")
    }
    count = token_counter(params.tokenizer)
    found: list[dict] = []
    for size in range(len(params.patients_by_notes), 0, -1):
        for _ in range(params.patients_by_notes[size - 1]):
            name = _pick(groups, size, rng)
            if name is None:
                break
            chosen = [groups[name].pop() for _ in range(size)]
            found += _encounters(rows.loc[chosen], f"p{len(found):05d}", rng, count)
    frame = pd.DataFrame(found, columns=["patient", "version", "position", "note_id", "date", "note", "tokens"])
    text = dict.fromkeys(["patient", "version", "note_id", "date", "note"], str)
    return _renumbered(frame.astype({**text, "position": "int64", "tokens": "int64"}))


def _pick(groups: dict[str, list], size: int, rng: np.random.Generator) -> str | None:
    """A group of records with enough left, picked in proportion to what it has left."""
    names = [name for name, left in sorted(groups.items()) if len(left) >= size]
    if not names:
        return None
    weights = np.array([len(groups[name]) for name in names], dtype=float)
    return str(rng.choice(names, p=weights / weights.sum()))


def _encounters(
    rows: pd.DataFrame, patient: str, rng: np.random.Generator, count: Callable[[str], int]
) -> list[dict[str, object]]:
    day = _FIRST_DAY + timedelta(days=int(rng.integers(_DAYS)))
    told = []
    for position, row in enumerate(rows.to_dict("records")):
        if position:
            day += timedelta(days=int(rng.integers(*_GAP)))
        who = {"patient": patient, "position": position, "note_id": str(row["record"]), "date": day.isoformat()}
        for version, column in (("normal", "note"), ("compact", "compact")):
            text = reduce_whitespace(row[column])
            told.append({**who, "version": version, "note": text, "tokens": count(text)})
    return told


def _renumbered(frame: pd.DataFrame) -> pd.DataFrame:
    codes = {name: f"p{i + 1:03d}" for i, name in enumerate(sorted(frame["patient"].unique()))}
    frame = frame.assign(patient=frame["patient"].map(codes).astype(str))
    return frame.sort_values(["patient", "version", "position"], ignore_index=True)
