"""Questions that can be asked about a patient's records, each with a right choice and distractors."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

import numpy as np
import pandas as pd

from schemas.params.note_qa import NoteQa
from schemas.tables.note_qa import LETTERS
from tasks.domains.in_use import domain_cache, domain_data
from tasks.evaluation.note_qa.statements import ABSENT, UNKNOWN, Wording, finding, joined

KINDS = ("findings", "descriptor", "visit", "change")


@dataclass(frozen=True)
class Encounter:
    """One note with the content that its record and prompt prescribe."""

    date: str
    mention: tuple[str, ...]
    avoid: tuple[str, ...]
    values: Mapping[str, str]
    descriptors: Mapping[str, str | None]
    note: str = field(repr=False)


@dataclass(frozen=True)
class Draft:
    """A question before its choices are shuffled: the right choice is the first."""

    kind: str
    wording: str
    choices: tuple[Wording, ...]
    answerable: bool = True


@dataclass(frozen=True)
class Vocabulary:
    """Labels, values and descriptors of each symptom over all records."""

    labels: Mapping[str, str]
    values: Mapping[str, tuple[str, ...]]
    descriptors: Mapping[str, tuple[str, ...]]

    @classmethod
    def of(cls, prompts: pd.DataFrame, labels: Mapping[str, str]) -> "Vocabulary":
        """Collect values and descriptors from the PROMPTS table."""
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


@domain_cache(maxsize=1)
def _near_synonyms() -> dict[str, set[str]]:
    """Each descriptor of ``near_synonyms.yaml`` with all members of its groups, itself included."""
    synonyms: dict[str, set[str]] = {}
    for group in domain_data("near_synonyms") or ():
        for descriptor in group:
            synonyms.setdefault(descriptor, set()).update(group)
    return synonyms


def drafts_of(visits: list[Encounter], vocabulary: Vocabulary, params: NoteQa, rng: np.random.Generator) -> list[Draft]:
    """Draw up to ``params.truth_questions`` different questions on one patient."""
    offer_unknown = params.unanswerable_share > 0
    found: dict[str, Draft] = {}
    for _ in range(20 * params.truth_questions):
        if len(found) >= params.truth_questions:
            break
        answerable = not offer_unknown or rng.random() >= params.unanswerable_share
        draft = _MAKERS[str(rng.choice(KINDS))](visits, vocabulary, answerable, offer_unknown, rng)
        if draft is not None:
            found.setdefault(draft.wording, draft)
    return list(found.values())


def _closed(
    kind: str, wording: str, right: Wording | None, wrong: list[Wording], offer_unknown: bool, rng: np.random.Generator
) -> Draft | None:
    """Compose five choices of the right one (None: unanswerable) and distractors; None if there are too few."""
    unknown = [Wording(UNKNOWN, "This cannot be learned from what was charted")] if offer_unknown else []
    fixed = [right, *unknown] if right else unknown
    need = len(LETTERS) - len(fixed)
    if len(wrong) < need:
        return None
    drawn = [wrong[i] for i in rng.permutation(len(wrong))[:need]]
    return Draft(kind, wording, (*fixed, *drawn), answerable=right is not None)


def _findings(
    visits: list[Encounter], vocabulary: Vocabulary, answerable: bool, offer_unknown: bool, rng: np.random.Generator
) -> Draft | None:
    """Which combination of values does the note of one visit state for two or three symptoms?"""
    visit = visits[rng.integers(len(visits))]
    pool = visit.mention if answerable else visit.avoid
    for size in (2, 3):
        if len(pool) < size:
            return None
        names = [pool[i] for i in rng.permutation(len(pool))[:size]]
        options = list(product(*(vocabulary.values[name] for name in names)))
        stated = tuple(visit.values[name] for name in names)
        wrong = [_combination(names, o, vocabulary) for o in options if not answerable or o != stated]
        right = _combination(names, stated, vocabulary) if answerable else None
        asked = " and ".join(vocabulary.labels[name] for name in names)
        wording = f"What does the note charted on {visit.date} say about the patient's {asked}?"
        if draft := _closed("findings", wording, right, wrong, offer_unknown, rng):
            return draft
    return None


def _combination(names: Sequence[str], values: Sequence[str], vocabulary: Vocabulary) -> Wording:
    """One statement of all values, present symptoms first: "no chills and thirst" could be read as neither."""
    ordered = sorted(zip(names, values, strict=True), key=lambda pair: pair[1] in ABSENT)
    return joined([finding(vocabulary.labels[name], value) for name, value in ordered])


def _descriptor(
    visits: list[Encounter], vocabulary: Vocabulary, answerable: bool, offer_unknown: bool, rng: np.random.Generator
) -> Draft | None:
    """How is a symptom described? Distractors come from the patient's notes first, then from other patients."""
    visit = visits[rng.integers(len(visits))]
    pool = [n for n in visit.mention if visit.descriptors.get(n)] if answerable else list(visit.avoid)
    if not pool:
        return None
    name = pool[rng.integers(len(pool))]
    right = visit.descriptors.get(name) if answerable else None
    own = {d for v in visits for d in v.descriptors.values() if d}
    here = {d for other, d in visit.descriptors.items() if d and other != name}  # of other symptoms
    wrong = [d for d in sorted(own) if _differs(d, right, visit.note, here)]
    more = [d for d in vocabulary.descriptors.get(name, ()) if d not in wrong and _differs(d, right, visit.note, here)]
    wrong += [more[i] for i in rng.permutation(len(more))]
    need = len(LETTERS) - (2 if right and offer_unknown else 1)
    wordings = [_described(d) for d in _unlike(wrong)[:need]]
    wording = f"How is the patient's {vocabulary.labels[name]} described in the note charted on {visit.date}?"
    return _closed("descriptor", wording, _described(right) if right else None, wordings, offer_unknown, rng)


def _described(descriptor: str) -> Wording:
    return Wording(f"As {descriptor}", f"The description given is {descriptor}")


def _differs(descriptor: str, right: str | None, note: str, here: set[str]) -> bool:
    """Whether a descriptor is certainly wrong: no near synonym of the right one, and not in the note by chance."""
    is_synonym = descriptor in _near_synonyms().get(right or "", {right})
    return not is_synonym and (descriptor in here or descriptor.lower() not in note.lower())


def _unlike(descriptors: list[str]) -> list[str]:
    """Drop near synonyms of earlier descriptors, so that no choice can be ruled out because another says the same."""
    kept: list[str] = []
    for descriptor in descriptors:
        if not any(descriptor in _near_synonyms().get(other, {other}) for other in kept):
            kept.append(descriptor)
    return kept


def _visit(
    visits: list[Encounter], vocabulary: Vocabulary, answerable: bool, offer_unknown: bool, rng: np.random.Generator
) -> Draft | None:
    """At which of the patient's visits was a symptom present?"""
    name = _shared(visits, answerable, rng)
    if len(visits) < 2 or name is None:
        return None
    present = tuple(visit.values[name] not in ABSENT for visit in visits)
    options = list(product([True, False], repeat=len(visits)))
    dates = [visit.date for visit in visits]
    right = _at(present, dates) if answerable else None
    wrong = [_at(option, dates) for option in options if not answerable or option != present]
    wording = f"At which of the visits does the patient have {vocabulary.labels[name]}?"
    return _closed("visit", wording, right, wrong, offer_unknown, rng)


def _at(present: Sequence[bool], dates: Sequence[str]) -> Wording:
    days = [day for day, is_present in zip(dates, present, strict=True) if is_present]
    if not days:
        return Wording("At none of the visits", "There was none on any of the dates")
    listed = " and ".join(days)
    return Wording(f"At the visit{'s' if len(days) > 1 else ''} of {listed}", f"It was there on {listed}")


def _change(
    visits: list[Encounter], vocabulary: Vocabulary, answerable: bool, offer_unknown: bool, rng: np.random.Generator
) -> Draft | None:
    """How did a symptom change between two consecutive visits?"""
    if len(visits) < 2:
        return None
    first = int(rng.integers(len(visits) - 1))
    pair = visits[first : first + 2]
    name = _shared(pair, answerable, rng)
    if name is None:
        return None
    stated = tuple(visit.values[name] for visit in pair)
    options = list(product(vocabulary.values[name], repeat=2))
    label = vocabulary.labels[name]
    right = _course(label, stated) if answerable else None
    wrong = [_course(label, option) for option in options if not answerable or option != stated]
    wording = f"How did the patient's {label} change from the visit of {pair[0].date} to the visit of {pair[1].date}?"
    return _closed("change", wording, right, wrong, offer_unknown, rng)


def _course(label: str, values: Sequence[str]) -> Wording:
    before, after = (finding(label, value).plain for value in values)
    if before == after:
        return Wording(f"{before.capitalize()} at both visits", f"Unchanged: {before} on either day")
    return Wording(f"{before.capitalize()} at first, then {after}", f"It went from {before} to {after}")


def _shared(visits: Sequence[Encounter], answerable: bool, rng: np.random.Generator) -> str | None:
    """Draw a symptom that all these notes must mention or, for unanswerable questions, that none may mention."""
    sets = [set(visit.mention if answerable else visit.avoid) for visit in visits]
    names = sorted(set.intersection(*sets))
    return names[rng.integers(len(names))] if names else None


_MAKERS: dict[str, Callable[[list[Encounter], Vocabulary, bool, bool, np.random.Generator], Draft | None]] = {
    "findings": _findings,
    "descriptor": _descriptor,
    "visit": _visit,
    "change": _change,
}
