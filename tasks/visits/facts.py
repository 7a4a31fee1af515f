"""Facts of a patient's record over time, each with a claim that a text may state.

A fact is a trait, an episode of a symptom (consecutive visits with the symptom), a measured level at a visit, a
treatment or a decision. All are pure functions of the table of visits. Times are those of the visits: an episode begins
by the first visit with the symptom and ends by the first visit without it. Facts hold days, their texts dates.
"""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from schemas.tables.columns import typed
from schemas.tables.visits import HISTORY_FACTS
from tasks.domains.rules import HistoryWords, PromptingRules
from tasks.network.graph import NetworkDefinition
from tasks.network.visits import date_of
from tasks.text.language import capitalized

Visits = Sequence[Mapping[Hashable, Any]]
"""Rows of the table of visits of one patient, by visit."""


@dataclass(frozen=True)
class Fact:
    """One fact. ``item``: the variable. ``value``: of a level or count. ``end``: None for what goes on, or has none."""

    kind: str
    item: str
    start: int
    value: str = ""
    end: int | None = None

    @property
    def key(self) -> str:
        """Identifies the fact of a patient."""
        return f"{self.kind}/{self.item}/{self.start}"


@dataclass(frozen=True)
class Worder:
    """Words facts in a domain: as claims, and in the telegraphic style of a summary."""

    network: NetworkDefinition
    rules: PromptingRules
    words: HistoryWords

    def has(self, visit: Mapping[Hashable, Any], name: str) -> bool:
        """Whether a visit has a condition, symptom or treatment."""
        return bool(visit[name] != self.network.values(name)[0])

    def claim(self, fact: Fact, patient: int) -> str:
        """A full sentence that states the fact."""
        name, start, end = self._name(fact.item), date_of(patient, fact.start), date_of(patient, fact.end)
        if fact.kind == "trait":
            trait = self.words.traits.get(fact.item)
            return f"The patient {trait.stated if trait else f'has {name}'}."
        if fact.kind == "episode":
            verb, ended = ("had", f" and ended by {end}") if end else ("has", "")
            return f"The patient {verb} {name}, which began by {start}{ended}."
        if fact.kind == "level":
            return f"On {start} the patient had {self._level(fact)}."
        return f"On {start} {self._decided(fact)}."

    def statement(self, fact: Fact, patient: int) -> str:
        """The same in a summary's style, in other words."""
        name, start, end = self._name(fact.item), date_of(patient, fact.start), date_of(patient, fact.end)
        if fact.kind == "trait":
            return f"Known condition: {name}."
        if fact.kind == "episode":
            return f"{capitalized(name)} from {start}, {f'gone by {end}' if end else 'ongoing'}."
        return f"{capitalized(self._level(fact) if fact.kind == 'level' else self._decided(fact))} on {start}."

    def denial(self, fact: Fact, patient: int) -> str:
        """A statement that contradicts the fact."""
        name = self._name(fact.item)
        absent = f"No {name} on {date_of(patient, fact.start)}."
        if fact.kind == "trait":
            trait = self.words.traits.get(fact.item)
            return f"The patient {trait.denied if trait else f'does not have {name}'}."
        if fact.kind in ("episode", "level"):
            return absent
        values = [value for value in self.network.values(fact.item) if value != fact.value]
        other = values[-1] if values else str(int(fact.value) + 5)
        return self.statement(replace(fact, value=other), patient)

    def _name(self, item: str) -> str:
        return self.rules.labels.get(item, item.replace("_", " "))

    def _level(self, fact: Fact) -> str:
        return self.rules.claims.get(fact.item, {}).get(fact.value, f"{fact.value} {self._name(fact.item)}")

    def _decided(self, fact: Fact) -> str:
        return self.words.decided({fact.item: fact.value})[fact.item]


def facts_of(visits: Visits, worder: Worder) -> list[Fact]:
    """The facts of one patient: traits of the first visit, then the others by day."""
    conditions = [name for name in worder.rules.conditions if worder.has(visits[0], name)]
    timed = [*_episodes(visits, worder), *_levels(visits, worder), *_decisions(visits, worder)]
    traits = [Fact("trait", name, int(visits[0]["day"])) for name in conditions]
    return traits + sorted(timed, key=lambda fact: fact.start)


def _episodes(visits: Visits, worder: Worder) -> Iterator[Fact]:
    for symptom in worder.rules.symptoms:
        start: int | None = None
        for visit in visits:
            present, day = worder.has(visit, symptom), int(visit["day"])
            if present and start is None:
                start = day
            if not present and start is not None:
                yield Fact("episode", symptom, start, end=day)
                start = None
        if start is not None:
            yield Fact("episode", symptom, start)


def _levels(visits: Visits, worder: Worder) -> Iterator[Fact]:
    for symptom in worder.rules.symptoms:
        for visit in visits if not worder.rules.is_plain(symptom) else ():
            if worder.has(visit, symptom):
                yield Fact("level", symptom, int(visit["day"]), str(visit[symptom]))


def _decisions(visits: Visits, worder: Worder) -> Iterator[Fact]:
    """Treatments given and outcomes decided; a treatment that was not given is no fact."""
    for visit in visits:
        for name in worder.words.decided(visit):
            is_treatment = name in worder.words.treatments
            if not is_treatment or worder.has(visit, name):
                yield Fact("treatment" if is_treatment else "decision", name, int(visit["day"]), str(visit[name]))


def history_facts(visits: pd.DataFrame, worder: Worder) -> pd.DataFrame:
    """HISTORY_FACTS of all patients of the table of visits."""
    rows = []
    for patient, own in visits.sort_values(["patient", "visit"]).groupby("patient", sort=True):
        for fact in facts_of(own.to_dict("records"), worder):
            named = {"patient": patient, "fact": fact.key, "kind": fact.kind, "item": fact.item}
            times = {"value": fact.value, "start": fact.start, "end": fact.end}
            rows.append({**named, **times, "claim": worder.claim(fact, int(patient))})
    return typed(rows, HISTORY_FACTS)


def visits_in_sentences(visits: Visits, worder: Worder) -> list[str]:
    """What the record says besides its facts: conditions never present, each symptom at each visit, no treatment."""
    rules, patient = worder.rules, int(visits[0]["patient"])
    never = [name for name in rules.conditions if not any(worder.has(visit, name) for visit in visits)]
    found = [worder.denial(Fact("trait", name, 0), patient) for name in never]
    for visit in visits:
        day = date_of(patient, int(visit["day"]))
        for name in rules.symptoms:
            found.append(f"On {day} the patient had {'' if worder.has(visit, name) else 'no '}{rules.labels[name]}.")
        denied = {name: visit[name] for name in worder.words.treatments if not worder.has(visit, name)}
        found += [f"On {day} {phrase}." for phrase in worder.words.decided(denied).values()]
    return found
