"""The questions that a patient's records allow, each with its right choice and wrong ones."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.resources import files
from itertools import product

import numpy as np
import pandas as pd
import yaml

from schemas.params.note_qa import NoteQa
from schemas.tables.note_qa import LETTERS
from tasks.evaluation.note_qa.statements import ABSENT, NOT_TOLD, Wording, finding, joined

KINDS = ("findings", "descriptor", "visit", "change")


@dataclass(frozen=True)
class Encounter:
    """What the record and its prompt fix for one note."""

    date: str
    mention: tuple[str, ...]
    avoid: tuple[str, ...]
    values: Mapping[str, str]
    descriptors: Mapping[str, str | None]
    note: str = field(repr=False)


@dataclass(frozen=True)
class Draft:
    """A question before its choices are shuffled: the right choice stands first."""

    kind: str
    wording: str
    choices: tuple[Wording, ...]
    answerable: bool = True


@dataclass(frozen=True)
class Vocabulary:
    """What all records have in common: labels of symptoms, their values, and descriptors in use."""

    labels: Mapping[str, str]
    values: Mapping[str, tuple[str, ...]]
    descriptors: Mapping[str, tuple[str, ...]]

    @classmethod
    def of(cls, prompts: pd.DataFrame, labels: Mapping[str, str]) -> "Vocabulary":
        """Collect values and descriptors from the prompts table."""
        values: dict[str, set[str]] = {}
        descriptors: dict[str, set[str]] = {}
        for row in prompts.itertuples():
            for name, value in json.loads(row.values).items():
                values.setdefault(name, set()).add(value)
            for name, descriptor in json.loads(row.descriptors).items():
                descriptors.setdefault(name, set()).update([descriptor] if descriptor else [])
        named = {name: labels.get(name, name.replace("_", " ")) for name in values}
        return cls(named, _sorted(values), _sorted(descriptors))


def _sorted(sets: dict[str, set[str]]) -> dict[str, tuple[str, ...]]:
    return {name: tuple(sorted(found)) for name, found in sorted(sets.items())}


@lru_cache(maxsize=1)
def _alike() -> dict[str, frozenset[str]]:
    source = files(__package__).joinpath("alike.yaml").read_text(encoding="utf-8")
    groups = [frozenset(group) for group in yaml.safe_load(source)]
    return {word: frozenset().union(*(g for g in groups if word in g)) for group in groups for word in group}


def drafts_of(visits: list[Encounter], vocabulary: Vocabulary, params: NoteQa, rng: np.random.Generator) -> list[Draft]:
    """Up to ``params.truth_questions`` different questions on one patient."""
    not_told = params.unanswerable_share > 0
    found: dict[str, Draft] = {}
    for _ in range(20 * params.truth_questions):
        if len(found) >= params.truth_questions:
            break
        answerable = not_told is False or rng.random() >= params.unanswerable_share
        draft = _MAKERS[str(rng.choice(KINDS))](visits, vocabulary, answerable, not_told, rng)
        if draft is not None:
            found.setdefault(draft.wording, draft)
    return list(found.values())


def _closed(
    kind: str, wording: str, right: Wording | None, wrong: list[Wording], not_told: bool, rng: np.random.Generator
) -> Draft | None:
    """Five choices out of the right one (None: unanswerable) and distractors; None when these are too few."""
    untold = [Wording(NOT_TOLD, "This cannot be learned from what was charted")] if not_told else []
    chosen = [right] if right else untold
    others = wrong if right is None else untold + wrong
    fixed = others[: len(untold)] if right else []
    need = len(LETTERS) - len(chosen) - len(fixed)
    pool = others[len(fixed) :]
    if len(pool) < need:
        return None
    picked = [pool[i] for i in rng.permutation(len(pool))[:need]]
    return Draft(kind, wording, (*chosen, *fixed, *picked), answerable=right is not None)


def _findings(
    visits: list[Encounter], vocabulary: Vocabulary, answerable: bool, not_told: bool, rng: np.random.Generator
) -> Draft | None:
    """Two or three symptoms at one visit: which combination of values does the note tell?"""
    visit = visits[rng.integers(len(visits))]
    pool = visit.mention if answerable else visit.avoid
    for size in (2, 3):
        if len(pool) < size:
            return None
        names = [pool[i] for i in rng.permutation(len(pool))[:size]]
        options = list(product(*(vocabulary.values[name] for name in names)))
        told = tuple(visit.values[name] for name in names)
        wrong = [_combination(names, o, vocabulary) for o in options if not answerable or o != told]
        right = _combination(names, told, vocabulary) if answerable else None
        asked = " and ".join(vocabulary.labels[name] for name in names)
        wording = f"What does the note charted on {visit.date} say about the patient's {asked}?"
        if draft := _closed("findings", wording, right, wrong, not_told, rng):
            return draft
    return None


def _combination(names: Sequence[str], values: Sequence[str], vocabulary: Vocabulary) -> Wording:
    """Present symptoms first: "no fever and cough" could be read as neither."""
    told = sorted(zip(names, values, strict=True), key=lambda pair: pair[1] in ABSENT)
    return joined([finding(vocabulary.labels[name], value) for name, value in told])


def _descriptor(
    visits: list[Encounter], vocabulary: Vocabulary, answerable: bool, not_told: bool, rng: np.random.Generator
) -> Draft | None:
    """How is a symptom described? Distractors stand in the patient's other notes first, then with other patients."""
    visit = visits[rng.integers(len(visits))]
    pool = [n for n in visit.mention if visit.descriptors.get(n)] if answerable else list(visit.avoid)
    if not pool:
        return None
    name = pool[rng.integers(len(pool))]
    right = visit.descriptors.get(name) if answerable else None
    own = {d for v in visits for d in v.descriptors.values() if d}
    here = {d for other, d in visit.descriptors.items() if d and other != name}  # said of another symptom
    wrong = [d for d in sorted(own) if _differs(d, right, visit.note, here)]
    more = [d for d in vocabulary.descriptors.get(name, ()) if d not in wrong and _differs(d, right, visit.note, here)]
    wrong += [more[i] for i in rng.permutation(len(more))]
    need = len(LETTERS) - (2 if right and not_told else 1)
    wordings = [_described(d) for d in _unlike(wrong)[:need]]
    wording = f"How is the patient's {vocabulary.labels[name]} described in the note charted on {visit.date}?"
    return _closed("descriptor", wording, _described(right) if right else None, wordings, not_told, rng)


def _described(descriptor: str) -> Wording:
    return Wording(f"As {descriptor}", f"The description given is {descriptor}")


def _differs(descriptor: str, right: str | None, note: str, here: set[str]) -> bool:
    """Whether a descriptor is wrong beyond doubt: no near synonym of the right one, and not in this note by chance."""
    alike = descriptor in _alike().get(right or "", {right})
    return not alike and (descriptor in here or descriptor.lower() not in note.lower())


def _unlike(descriptors: list[str]) -> list[str]:
    """Without near synonyms of one another, so that no choice can be ruled out for having a twin."""
    kept: list[str] = []
    for descriptor in descriptors:
        if not any(descriptor in _alike().get(other, {other}) for other in kept):
            kept.append(descriptor)
    return kept


def _visit(
    visits: list[Encounter], vocabulary: Vocabulary, answerable: bool, not_told: bool, rng: np.random.Generator
) -> Draft | None:
    """At which of two or three visits did the patient have a symptom?"""
    name = _shared(visits, answerable, rng)
    if len(visits) < 2 or name is None:
        return None
    present = tuple(visit.values[name] not in ABSENT for visit in visits)
    options = list(product([True, False], repeat=len(visits)))
    dates = [visit.date for visit in visits]
    right = _at(present, dates) if answerable else None
    wrong = [_at(option, dates) for option in options if not answerable or option != present]
    wording = f"At which of the visits does the patient have {vocabulary.labels[name]}?"
    return _closed("visit", wording, right, wrong, not_told, rng)


def _at(present: Sequence[bool], dates: Sequence[str]) -> Wording:
    days = [day for day, there in zip(dates, present, strict=True) if there]
    if not days:
        return Wording("At none of the visits", "There was none on any of the dates")
    listed = " and ".join(days)
    return Wording(f"At the visit{'s' if len(days) > 1 else ''} of {listed}", f"It was there on {listed}")


def _change(
    visits: list[Encounter], vocabulary: Vocabulary, answerable: bool, not_told: bool, rng: np.random.Generator
) -> Draft | None:
    """How did a symptom change between two visits in a row?"""
    if len(visits) < 2:
        return None
    first = int(rng.integers(len(visits) - 1))
    pair = visits[first : first + 2]
    name = _shared(pair, answerable, rng)
    if name is None:
        return None
    told = tuple(visit.values[name] for visit in pair)
    options = list(product(vocabulary.values[name], repeat=2))
    label = vocabulary.labels[name]
    right = _course(label, told) if answerable else None
    wrong = [_course(label, option) for option in options if not answerable or option != told]
    wording = f"How did the patient's {label} change from the visit of {pair[0].date} to the visit of {pair[1].date}?"
    return _closed("change", wording, right, wrong, not_told, rng)


def _course(label: str, values: Sequence[str]) -> Wording:
    before, after = (finding(label, value).plain for value in values)
    if before == after:
        return Wording(f"{before.capitalize()} at both visits", f"Unchanged: {before} on either day")
    return Wording(f"{before.capitalize()} at first, then {after}", f"It went from {before} to {after}")


def _shared(visits: Sequence[Encounter], answerable: bool, rng: np.random.Generator) -> str | None:
    """A symptom that all these notes must mention (or none may touch on)."""
    sets = [set(visit.mention if answerable else visit.avoid) for visit in visits]
    names = sorted(set.intersection(*sets))
    return names[rng.integers(len(names))] if names else None


_MAKERS: dict[str, Callable[[list[Encounter], Vocabulary, bool, bool, np.random.Generator], Draft | None]] = {
    "findings": _findings,
    "descriptor": _descriptor,
    "visit": _visit,
    "change": _change,
}
