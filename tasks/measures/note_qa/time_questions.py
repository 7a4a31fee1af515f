"""Questions about time, from the table of visits alone: first, last, how often, how long, since when, what changed.

A question is about the visits from a day on, up to a day, or between two days, so that its evidence may be anywhere in
the notes. It is unanswerable where no visit is in that period, or where an episode had not ended at the last visit.
Symptoms are present or absent; their levels do not matter.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

import numpy as np
import pandas as pd

from schemas.params.history import HistoryQa
from schemas.tables.columns import typed
from schemas.tables.note_qa import PATIENT_NOTES
from schemas.tables.visits import HISTORY_QUESTIONS, PLACES
from tasks.llm.calls import unscored_row, unscored_table
from tasks.measures.note_qa.patients import estimated_tokens, reduce_whitespace
from tasks.measures.note_qa.truth_questions import Draft, Drawing, Wording, listed, shuffled
from tasks.network.visits import visit_dates
from tasks.text.language import capitalized
from tasks.visits.facts import Worder

_STREAM = 1111
_DRAWS = 60
"""Draws until a question fits."""
_BEYOND = (20, 200)
"""Days outside a patient's visits at which an unanswerable question asks."""


@dataclass(frozen=True)
class Course:
    """One patient's visits in order: dates, and by symptom label or phrase of a treatment, whether it held at each."""

    dates: tuple[date, ...]
    present: Mapping[str, Sequence[bool]]
    given: Mapping[str, Sequence[bool]]

    @classmethod
    def of(cls, visits: pd.DataFrame, worder: Worder) -> "Course":
        """Read one patient's rows of the table of visits; the first value of a treatment means that it is not given."""
        own, rules = visits.sort_values("visit"), worder.rules
        present = {rules.labels[name]: (own[name] != none).tolist() for name, none in rules.absent_value.items()}
        given = {
            phrase: (own[name] == value).tolist()
            for name, phrases in worder.words.treatments.items()
            for value, phrase in phrases.items()
            if value != worder.network.values(name)[0]
        }
        return cls(tuple(map(date.fromisoformat, visit_dates(own))), present, given)


@dataclass
class TimeQuestions(Drawing):
    """Draws questions on one patient's course."""

    course: Course

    def drafts(self, n: int, unanswerable_share: float, places: Sequence[str]) -> list[Draft]:
        """Up to ``n`` different questions whose evidence is, as far as possible, evenly placed (PLACES by visit)."""
        found: dict[str, Draft] = {}
        counts = dict.fromkeys(PLACES, 0)
        kinds = [self.first, self.last, self.often, self.long, self.since, self.changed, self.order]
        for _ in range(n):
            answerable = not self.offer_unknown or self.random.random() >= unanswerable_share
            for _ in range(_DRAWS):
                drawn = self.any_of(kinds)(answerable)
                if drawn is None or drawn.wording in found:
                    continue
                place = place_of(drawn, places)
                if place not in places or counts[place] <= min(counts[one] for one in places) + 1:
                    counts[place] += 1
                    found[drawn.wording] = drawn
                    break
        return list(found.values())

    def first(self, answerable: bool) -> Draft | None:
        """The first visit from a day on at which the patient has a symptom."""
        start, label = self._start(answerable), self._symptom()
        at = self._visits(label, start)
        wording = f"From {start} on, at which visit did the patient first have {label}?"
        return self._dated("first", wording, at[:1], answerable, start=start)

    def last(self, answerable: bool) -> Draft | None:
        """The last visit up to a day at which the patient has a symptom."""
        end, label = self._end(answerable), self._symptom()
        at = [i for i in self._visits(label) if self.course.dates[i] <= end]
        wording = f"Up to {end}, at which visit did the patient last have {label}?"
        return self._dated("last", wording, at[-1:], answerable, end=end)

    def often(self, answerable: bool) -> Draft | None:
        """The number of visits between two days at which the patient has a symptom."""
        start = self._start(answerable)
        label, later = self._symptom(), [day for day in self.course.dates if day >= start]
        end = later[int(self.random.integers(min(len(later), 8)))] if later else start + self._days_beyond()
        at = [i for i in self._visits(label, start) if self.course.dates[i] <= end]
        if answerable and not at:
            return None
        most = min(max(5, len(at) + 2), (end - start).days + 1)  # more visits than days cannot be right
        numbers = [_number(k) for k in range(1, most + 1)]
        wording = f"From {start} to {end}, at how many visits did the patient have {label}?"
        return self.closed("often", wording, _number(len(at)) if answerable else None, numbers, at)

    def long(self, answerable: bool) -> Draft | None:
        """Days from the first visit with a symptom to the next visit without; unanswerable while it goes on."""
        start, label = self._start(True), self._symptom()
        begun = self._visits(label, start)[:1]
        ended = [
            i for i in range(len(self.course.dates)) if begun and i > begun[0] and not self.course.present[label][i]
        ]
        if not begun or bool(ended) != answerable:
            return None
        evidence = [begun[0], *ended[:1]]
        days = (self.course.dates[evidence[-1]] - self.course.dates[begun[0]]).days
        near = {(later - one).days for one in self.course.dates for later in self.course.dates if later > one}
        near |= {days + shift for shift in (-9, -4, 3, 7, 11, 16, 30)}
        times = [_lasting(k) for k in sorted(near) if k > 1]
        wording = (
            f"From {start} on, how many days lay between the first visit with {label} and the next visit without it?"
        )
        return self.closed("long", wording, _lasting(days) if answerable else None, times, evidence)

    def since(self, answerable: bool) -> Draft | None:
        """The first visit with a symptom and a treatment that is followed by a visit without the symptom."""
        if not self.course.given:
            return None
        start, label, phrase = self._start(answerable), self._symptom(), self.any_of(list(self.course.given))
        present, given = self.course.present[label], self.course.given[phrase]
        at = [i for i in self._visits(label, start) if given[i] and i + 1 < len(present) and not present[i + 1]]
        wording = (
            f"From {start} on, at which visit with {label} was it first so that {phrase} "
            f"and the next visit was without {label}?"
        )
        return self._dated("since", wording, at[:1], answerable, start=start)

    def changed(self, answerable: bool) -> Draft | None:
        """The symptom that is present at one of two visits in a row but not at the other."""
        size = len(self.course.dates)
        if size < 2:
            return None
        i = int(self.random.integers(size - 1))
        one, other = self.course.dates[i : i + 2]
        if not answerable:
            other = self.course.dates[-1] + self._days_beyond()
        changed = [label for label, held in self.course.present.items() if held[i] != held[i + 1]]
        if answerable and len(changed) != 1:
            return None
        labels, right = list(self.course.present), _named(changed[0]) if answerable else None
        asked = f"did the patient have at one of the visits of {one} and {other}, but not at the other?"
        wording, options = f"Which of {listed(labels)} {asked}", [_named(label) for label in labels]
        return self.closed("changed", wording, right, options, [i, i + 1])

    def order(self, answerable: bool) -> Draft | None:
        """Which of three symptoms the patient had first from a day on."""
        start, labels = self._start(answerable), list(self.course.present)
        if len(labels) < 3:
            return None
        asked = [labels[i] for i in self.random.permutation(len(labels))[:3]]
        firsts = {label: at[0] for label in asked if (at := self._visits(label, start))}
        if answerable and not firsts:
            return None
        earliest = [label for label in asked if firsts.get(label) == min(firsts.values(), default=None)]
        choices = {label: _named(label) for label in asked}
        choices[""] = Wording("Two or more of them at the same visit", "More than one, at one and the same visit")
        right = choices[earliest[0] if len(earliest) == 1 else ""] if answerable else None
        wording = f"From {start} on, which did the patient have first: {asked[0]}, {asked[1]} or {asked[2]}?"
        return self.closed("order", wording, right, list(choices.values()), sorted(set(firsts.values()))[:1])

    def _dated(
        self,
        kind: str,
        wording: str,
        at: Sequence[int],
        answerable: bool,
        *,
        start: date = date.min,
        end: date = date.max,
    ) -> Draft | None:
        """A question whose answer is the date of a visit from ``start`` on or, without one, up to ``end``.

        Distractors are dates in the same period, so that none is ruled out by the question: the given day, other
        visits, then days near them.
        """
        if answerable and not at:
            return None
        given, step = (end, -1) if start == date.min else (start, 1)
        days = sorted({given, *(day for day in self.course.dates if start <= day <= end)})
        if answerable:
            days = [day for day in days if day != self.course.dates[at[0]]]
        days = [days[i] for i in self.random.permutation(len(days))]
        while len(days) < 4:
            near = self.any_of([given, *days]) + step * timedelta(days=int(self.random.integers(2, 60)))
            days += [near] if near not in (*days, *self.course.dates) else []
        right = _at(self.course.dates[at[0]]) if answerable else None
        return self.closed(kind, wording, right, [_at(day) for day in days[:4]], at)

    def _visits(self, label: str, start: date | None = None) -> list[int]:
        """The visits with a symptom, from ``start`` on."""
        held = self.course.present[label]
        return [i for i, day in enumerate(self.course.dates) if held[i] and (start is None or day >= start)]

    def _start(self, answerable: bool) -> date:
        """The day of a visit or, of an unanswerable question, a day after the last one."""
        return self.any_of(self.course.dates) if answerable else self.course.dates[-1] + self._days_beyond()

    def _end(self, answerable: bool) -> date:
        return self.any_of(self.course.dates) if answerable else self.course.dates[0] - self._days_beyond()

    def _days_beyond(self) -> timedelta:
        return timedelta(days=int(self.random.integers(*_BEYOND)))

    def _symptom(self) -> str:
        return self.any_of(list(self.course.present))


def _at(day: date) -> Wording:
    return Wording(f"At the visit of {day}", f"It was on {day}")


def _number(count: int) -> Wording:
    return Wording(f"At {count} visit{'s' if count > 1 else ''}", f"The number of such visits is {count}")


def _lasting(days: int) -> Wording:
    return Wording(f"{days} days", f"It took {days} days")


def _named(label: str) -> Wording:
    return Wording(capitalized(label), f"That is {label}")


def place_of(drawn: Draft, places: Sequence[str]) -> str:
    """Where the evidence of a question is: in one part of the notes, throughout, or nowhere."""
    found = {places[i] for i in drawn.evidence}
    if not found:
        return "nowhere"
    return found.pop() if len(found) == 1 else "throughout"


def places_of(tokens: Sequence[int]) -> list[str]:
    """The third of a patient's notes in which the middle of each note is; ``tokens`` by note."""
    middles = np.cumsum(tokens) - np.array(tokens) / 2
    return [PLACES[min(2, int(3 * middle / max(1, sum(tokens))))] for middle in middles]


def history_questions(
    visits: pd.DataFrame, notes: pd.DataFrame, worder: Worder, params: HistoryQa, *, seed: int
) -> tuple[pd.DataFrame, dict[str, tuple[Wording, ...]]]:
    """HISTORY_QUESTIONS on the patients of ``notes`` (PATIENT_NOTES), and both wordings of each question's choices.

    Answers follow from ``visits``; the notes only give length and place. A patient with more tokens than the first of
    ``params.level_tokens`` gets ``params.long_questions``, others ``params.questions``.
    """
    rows, wordings = [], dict[str, tuple[Wording, ...]]()
    by_patient = {patient_name(number): own for number, own in visits.groupby("patient")}
    for patient, own in notes.groupby("patient"):
        own = own.sort_values("position")
        own_visits = by_patient[str(patient)]
        random = np.random.default_rng([seed, _STREAM, int(own_visits["patient"].iloc[0])])
        places = places_of(own["tokens"].tolist())
        n = params.questions if own["tokens"].sum() <= params.level_tokens[0] else params.long_questions
        maker = TimeQuestions(random, params.unanswerable_share > 0, Course.of(own_visits, worder))
        for number, drawn in enumerate(maker.drafts(n, params.unanswerable_share, places), 1):
            name = f"{patient}/truth/{number:03d}"
            row, wordings[name] = shuffled(drawn, name, own, params.answering, random)
            evidence = json.dumps([i + 1 for i in drawn.evidence])
            rows.append({**row, "place": place_of(drawn, places), "visits": evidence})
    return typed(rows, HISTORY_QUESTIONS).sort_values("question", ignore_index=True), wordings


def patient_name(number: Any) -> str:
    """The id of a patient of the table of visits in the tables of questions."""
    return f"h{int(number):04d}"


def notes_of_visits(visits: pd.DataFrame, notes: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """PATIENT_NOTES of the patients whose visits all have a note, from which answers follow; UNSCORED of others."""
    merged = visits[["record", "patient", "visit", "day"]].merge(notes[["record", "text"]], on="record", how="left")
    lacking = merged.loc[merged["text"].isna(), "patient"].unique().tolist()
    kept = merged[~merged["patient"].isin(lacking)]
    kept = kept.assign(date=visit_dates(kept), note=[reduce_whitespace(text) for text in kept["text"]])
    rows = kept.assign(
        patient=[patient_name(number) for number in kept["patient"]],
        version="normal",
        position=kept["visit"] - 1,
        note_id=kept["record"].astype(str),
        tokens=[estimated_tokens(note) for note in kept["note"]],
    )
    failed = [unscored_row(patient_name(number), "history_qa/notes", "a visit has no note") for number in lacking]
    return typed(rows, PATIENT_NOTES).reset_index(drop=True), unscored_table(failed)
