"""Patients with several encounters, composed of simulated records."""

import json
from collections.abc import Callable, Hashable, Mapping
from datetime import date, timedelta

import numpy as np
import pandas as pd

from schemas.params.note_qa import NoteQa
from tasks.evaluation.note_qa.constant_traits import Traits, compatible, stated_traits
from tasks.evaluation.note_qa.text_length import reduce_whitespace, token_counter

_PATIENTS = 801
_FIRST_DAY, _DAYS = date(2022, 1, 3), 700
_GAP = (21, 240)
"""Range of days between two visits of a patient."""


def simulated_patients(
    prompts: pd.DataFrame, notes: pd.DataFrame, compact: pd.DataFrame, params: NoteQa, *, seed: int
) -> pd.DataFrame:
    """Draw patients (PATIENT_NOTES); ``params.patients_by_notes`` gives how many have one note, two notes and so on.

    The encounters of a patient are records with the same underlying conditions. Given these, the network draws all
    other variables independently, so such records are repeated draws for one patient. Their notes do not contradict
    each other in a constant trait (`constant_traits`). Record numbers, the ids of the notes, ascend with the dates.
    Only notes about symptoms of the domain that the consistency filter passed are used. If there are too few records,
    patients with the most notes are drawn first.
    """
    kept = notes.loc[notes["consistent"], ["record", "note"]].merge(compact[["record", "compact"]], on="record")
    rows = prompts.loc[prompts["kind"] == "symptoms", ["record", "conditions"]].merge(kept, on="record")
    rows["conditions"] = [", ".join(sorted(json.loads(listed))) for listed in rows["conditions"]]
    rng = np.random.default_rng([seed, _PATIENTS])
    groups: dict[str, list] = {}
    for name, group in rows.groupby("conditions"):
        groups[str(name)] = list(rng.permutation(group.sort_values("record").index))
    traits = {index: stated_traits(note) for index, note in rows["note"].items()}
    count = token_counter(params.tokenizer)
    found: list[dict] = []
    for size in range(len(params.patients_by_notes), 0, -1):
        for _ in range(params.patients_by_notes[size - 1]):
            chosen = _draw(groups, size, traits, rng)
            if chosen is None:
                break
            found += _encounters(rows.loc[chosen].sort_values("record"), f"p{len(found):05d}", rng, count)
    frame = pd.DataFrame(found, columns=["patient", "version", "position", "note_id", "date", "note", "tokens"])
    text = dict.fromkeys(["patient", "version", "note_id", "date", "note"], str)
    return _renumbered(frame.astype({**text, "position": "int64", "tokens": "int64"}))


def _pick(groups: dict[str, list], size: int, rng: np.random.Generator) -> str | None:
    """Draw a group that has ``size`` records left, with probability proportional to its records left; else None."""
    names = [name for name, left in sorted(groups.items()) if len(left) >= size]
    if not names:
        return None
    weights = np.array([len(groups[name]) for name in names], dtype=float)
    return str(rng.choice(names, p=weights / weights.sum()))


def _draw(
    groups: dict[str, list], size: int, traits: Mapping[Hashable, Traits], rng: np.random.Generator
) -> list | None:
    """Take the next record out of a drawn group, with following ones whose notes fit it; None if none has enough.

    A record that too few others fit is left out for good.
    """
    while (name := _pick(groups, size, rng)) is not None:
        left = groups[name]
        chosen = [left.pop()]
        for index in reversed(left):
            if len(chosen) < size and compatible(traits[index], [traits[other] for other in chosen]):
                chosen.append(index)
        if len(chosen) == size:
            left[:] = [index for index in left if index not in chosen]
            return chosen
    return None


def _encounters(
    rows: pd.DataFrame, patient: str, rng: np.random.Generator, count: Callable[[str], int]
) -> list[dict[str, object]]:
    day = _FIRST_DAY + timedelta(days=int(rng.integers(_DAYS)))
    found: list[dict[str, object]] = []
    for position, row in enumerate(rows.to_dict("records")):
        if position:
            day += timedelta(days=int(rng.integers(*_GAP)))
        who = {"patient": patient, "position": position, "note_id": str(row["record"]), "date": day.isoformat()}
        for version, column in (("normal", "note"), ("compact", "compact")):
            text = reduce_whitespace(row[column])
            found.append({**who, "version": version, "note": text, "tokens": count(text)})
    return found


def _renumbered(frame: pd.DataFrame) -> pd.DataFrame:
    codes = {name: f"p{i + 1:03d}" for i, name in enumerate(sorted(frame["patient"].unique()))}
    frame = frame.assign(patient=frame["patient"].map(codes).astype(str))
    return frame.sort_values(["patient", "version", "position"], ignore_index=True)
