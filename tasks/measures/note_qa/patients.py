"""Patients and their notes: as text for a prompt, their length (EHRNoteQA, Section 3.1), and simulated patients.

A simulated patient has several encounters, which are records with the same underlying conditions. Their notes may not
contradict each other in traits that stay the same between visits: sex, work, household, habits, allergies. The record
does not hold these: the writer invents them as context.
"""

import json
import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from datetime import date, timedelta

import numpy as np
import pandas as pd

from schemas.params.measures import NoteQa
from schemas.tables.columns import typed
from schemas.tables.note_qa import PATIENT_NOTES

NO_NOTES = "(no notes are given)"


def notes_text(notes: pd.DataFrame) -> str:
    """Join the notes of one patient and version (rows of PATIENT_NOTES), ordered and headed as in EHRNoteQA."""
    blocks = [
        f"<note>\nPatient: {row.patient}\nNote: {row.note_id}\nDate: {row.date}\n\n{row.note}\n</note>"
        for row in notes.sort_values("position").itertuples()
    ]
    return "\n".join(blocks) or NO_NOTES


_PIECE = re.compile(r"[A-Za-z]+|\d{1,3}|[^\sA-Za-z\d]+")
_LETTERS_A_TOKEN = 7.0
"""Letters of a word per token; `estimated_tokens` gives the resulting errors."""


def reduce_whitespace(text: str) -> str:
    """Remove blank lines and white space around line breaks, and reduce runs of white space to one blank."""
    lines = (" ".join(line.split()) for line in text.split("\n"))
    return "\n".join(line for line in lines if line)


def estimated_tokens(text: str) -> int:
    """Estimate the number of tokens of a byte-pair tokenizer without its vocabulary; 0 for an empty text.

    Counts words, groups of up to three digits and runs of other characters, long words several times. Error against
    cl100k: SimSUM's notes +6%, their compact versions -4%, ACI-BENCH's notes -2% and dialogues +4% (50 notes and 40
    encounters).
    """
    pieces = _PIECE.findall(text)
    return sum(1 + int((len(piece) - 1) // _LETTERS_A_TOKEN) if piece[0].isalpha() else 1 for piece in pieces)


def level(tokens: int, limits: Sequence[int]) -> int:
    """1 for up to ``limits[0]`` tokens, 2 for up to ``limits[1]``, and so on; ``len(limits) + 1`` beyond the last."""
    return 1 + sum(tokens > limit for limit in limits)


_WORDS: dict[str, dict[str, str]] = {
    "sex": {"female": r"she|woman|female", "male": r"he|man|male"},
    "work": {
        "desk": r"desk|office|work(?:s|ing)? from home|WFH|computer work",
        "manual": r"warehouse|construction|building site|factory|farm(?:er|s|ing)?|workshop|mechanic|carpenter|cleaner",
        "teaching": r"teacher|teaches|teaching|kindergarten|nursery school",
        "care": r"nurse|care worker|hospital (?:job|work|staff)|nursing home",
        "driving": r"(?:truck|lorry|bus|taxi|delivery) driver|courier",
        "service": r"shop assistant|supermarket|restaurant|waiter|waitress|hairdresser",
        "study": r"student|university|college",
        "none": r"retired|pensioner|unemployed|out of work",
    },
    "household": {"alone": r"lives? alone|living alone", "shared": r"lives? with|living with"},
    "smoking": {
        "no": r"non-?smoker|never smoked|(?:does not|doesn't|do not) smoke|denies smoking|no smoking",
        "yes": r"smokes|(?<!non-)(?<!non)(?<!ex-)smoker(?! in)|cigarettes (?:a|per) day",
    },
    "allergies": {
        "none": r"no (?:known )?(?:drug |medication |seasonal )?allerg(?:y|ies)|NKD?A|denies (?:any )?allergies",
        "some": r"allergic to|has an allergy to",
    },
}
_TRAITS = {
    trait: {value: re.compile(rf"\b(?:{words})\b", re.IGNORECASE) for value, words in values.items()}
    for trait, values in _WORDS.items()
}
Traits = Mapping[str, frozenset[str]]
"""Values that a note states, by trait."""


def stated_traits(note: str) -> dict[str, frozenset[str]]:
    """Values of each trait that ``note`` states; traits that it does not state are absent."""
    found = {
        trait: frozenset(value for value, pattern in values.items() if pattern.search(note))
        for trait, values in _TRAITS.items()
    }
    return {trait: values for trait, values in found.items() if values}


def compatible(one: Traits, others: Iterable[Traits]) -> bool:
    """Whether the traits of a note share a value with those of each other note, for every trait that both state."""
    return all(one[trait] & other[trait] for other in others for trait in one.keys() & other.keys())


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
    each other in a constant trait (`stated_traits`). Record numbers, the ids of the notes, ascend with the dates.
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
    found: list[dict] = []
    for size in range(len(params.patients_by_notes), 0, -1):
        for _ in range(params.patients_by_notes[size - 1]):
            chosen = _draw(groups, size, traits, rng)
            if chosen is None:
                break
            found += _encounters(rows.loc[chosen].sort_values("record"), f"p{len(found):05d}", rng)
    frame = typed(found, PATIENT_NOTES)
    codes = {name: f"p{i:03d}" for i, name in enumerate(sorted(frame["patient"].unique()), 1)}
    frame = frame.assign(patient=frame["patient"].map(codes).astype(str))
    return frame.sort_values(["patient", "version", "position"], ignore_index=True)


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
    """Take the next record of a drawn group that enough others fit, with those; None if none has enough."""
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


def _encounters(rows: pd.DataFrame, patient: str, rng: np.random.Generator) -> list[dict[str, object]]:
    day = _FIRST_DAY + timedelta(days=int(rng.integers(_DAYS)))
    found: list[dict[str, object]] = []
    for position, row in enumerate(rows.to_dict("records")):
        if position:
            day += timedelta(days=int(rng.integers(*_GAP)))
        who = {"patient": patient, "position": position, "note_id": str(row["record"]), "date": day.isoformat()}
        for version, column in (("normal", "note"), ("compact", "compact")):
            text = reduce_whitespace(row[column])
            found.append({**who, "version": version, "note": text, "tokens": estimated_tokens(text)})
    return found
