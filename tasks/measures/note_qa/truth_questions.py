"""Questions built from the records, whose right choice is known without a judge.

A prompt says which symptoms its note must mention, with value and descriptor, and which it must not mention. The right
choice follows from that, except where the writer departed from the prompt and the consistency filter did not notice.
Questions about symptoms that must not be mentioned are unanswerable; EHRNoteQA names the lack of such questions as a
limitation. Every choice has a second wording, for planted answers.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from schemas.params.measures import NoteQa
from schemas.tables.note_qa import LETTERS
from tasks.measures.note_qa.questions import question_row, question_table
from tasks.text.language import capitalized

_TRUTH = 802

ABSENT = frozenset({"no", "none", "absent"})
UNKNOWN = "The notes do not tell"
"""Text of the choice that the notes do not answer the question."""


@dataclass(frozen=True)
class Wording:
    """A statement as an answer choice (``plain``) and paraphrased (``other``), for planted answers."""

    plain: str
    other: str


def finding(label: str, value: str) -> Wording:
    """State that a symptom has a value: ``finding("thirst", "high").plain`` is ``"high thirst"``."""
    if value in ABSENT:
        return Wording(f"no {label}", f"{label} is denied")
    if value == "yes":
        return Wording(label, f"{label} is reported")
    return Wording(f"{value} {label}", f"{label} is present and {value}")


def joined(parts: list[Wording]) -> Wording:
    """Join several findings into one statement."""
    plain, other = [p.plain for p in parts], [p.other for p in parts]
    return Wording(capitalized(listed(plain)), capitalized(listed(other)))


def listed(words: list[str]) -> str:
    """The words with commas, and "and" before the last."""
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1]


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
    """A question before its choices are shuffled: the right choice is the first.

    ``evidence``: of a question about time, the visits, counted from 0, that its answer depends on; none of an
    unanswerable one.
    """

    kind: str
    wording: str
    choices: tuple[Wording, ...]
    answerable: bool = True
    evidence: tuple[int, ...] = ()


@dataclass
class Drawing:
    """Base of what draws questions on one patient, each method of one kind; None where a draw allows no question.

    ``offer_unknown``: every question offers the choice that the notes do not answer it.
    """

    random: np.random.Generator
    offer_unknown: bool

    def any_of(self, options: Sequence[Any]) -> Any:
        """One of the options."""
        return options[int(self.random.integers(len(options)))]

    def closed(
        self, kind: str, wording: str, right: Wording | None, options: Sequence[Wording], evidence: Sequence[int] = ()
    ) -> Draft | None:
        """Compose five choices of the right one (None: unanswerable) and other ``options``; None if these are few."""
        unknown = [Wording(UNKNOWN, "This cannot be learned from what was charted")] if self.offer_unknown else []
        fixed = [right, *unknown] if right else unknown
        need, wrong = len(LETTERS) - len(fixed), [one for one in options if one != right]
        if len(wrong) < need:
            return None
        drawn = [wrong[i] for i in self.random.permutation(len(wrong))[:need]]
        return Draft(kind, wording, (*fixed, *drawn), right is not None, tuple(evidence) if right else ())


@dataclass(frozen=True)
class Vocabulary:
    """Labels, values and descriptors of each symptom over all records, and the near synonyms of each descriptor."""

    labels: Mapping[str, str]
    values: Mapping[str, tuple[str, ...]]
    descriptors: Mapping[str, tuple[str, ...]]
    synonyms: Mapping[str, frozenset[str]]

    @classmethod
    def of(
        cls, prompts: pd.DataFrame, labels: Mapping[str, str], near_synonyms: Sequence[Sequence[str]]
    ) -> "Vocabulary":
        """Collect values and descriptors from the PROMPTS table; ``near_synonyms`` are groups of descriptors."""
        values: dict[str, set[str]] = {}
        descriptors: dict[str, set[str]] = {}
        for row in prompts.itertuples():
            for name, value in json.loads(row.values).items():
                values.setdefault(name, set()).add(value)
            for name, descriptor in json.loads(row.descriptors).items():
                descriptors.setdefault(name, set()).update([descriptor] if descriptor else [])
        synonyms: dict[str, frozenset[str]] = {}
        for group in near_synonyms:
            synonyms |= {descriptor: synonyms.get(descriptor, frozenset()) | set(group) for descriptor in group}
        named = {name: labels.get(name, name.replace("_", " ")) for name in values}
        of, described = (
            {name: tuple(sorted(found)) for name, found in sorted(sets.items())} for sets in (values, descriptors)
        )
        return cls(named, of, described, synonyms)

    def are_alike(self, descriptor: str, other: str) -> bool:
        """Whether two descriptors are the same or near synonyms."""
        return descriptor in self.synonyms.get(other, {other})


def truth_questions(
    prompts: pd.DataFrame,
    notes: pd.DataFrame,
    spans: pd.DataFrame,
    params: NoteQa,
    labels: Mapping[str, str],
    near_synonyms: Sequence[Sequence[str]],
    *,
    seed: int,
) -> tuple[pd.DataFrame, dict[str, tuple[Wording, ...]]]:
    """Questions with known truth (QUESTIONS), and both wordings of each question's choices, A to E.

    ``notes`` is PATIENT_NOTES; ``labels`` and ``near_synonyms`` are the domain's. ``spans`` only restrict unanswerable
    questions: a symptom with a span, contrary to the prompt, is not asked about. A patient whose records allow fewer
    questions than ``params.truth_questions`` gets fewer.
    """
    vocabulary = Vocabulary.of(prompts, labels, near_synonyms)
    by_record = prompts.set_index(prompts["record"].astype(str))
    mentioned = set(zip(spans["record"].astype(str), spans["symptom"], strict=True))
    rows, wordings = [], {}
    normal = notes[notes["version"] == "normal"]
    for number, (patient, own) in enumerate(sorted(normal.groupby("patient"), key=lambda pair: str(pair[0]))):
        random = np.random.default_rng([seed, _TRUTH, number])
        own = own.sort_values("position")
        visits = [_encounter(by_record.loc[row.note_id], row.date, row.note, mentioned) for row in own.itertuples()]
        maker = QuestionMaker(random, params.unanswerable_share > 0, visits, vocabulary)
        for at, draft in enumerate(maker.drafts(params), 1):
            name = f"{patient}/truth/{at}"
            row, wordings[name] = shuffled(draft, name, own, params, random)
            rows.append(row)
    return question_table(rows), wordings


def shuffled(
    draft: Draft, name: str, notes: pd.DataFrame, params: NoteQa, random: np.random.Generator
) -> tuple[dict[str, Any], tuple[Wording, ...]]:
    """Row of QUESTIONS of a draft about the patient of ``notes``, and its choices, A to E, in random order."""
    order = random.permutation(len(draft.choices))
    choices = tuple(draft.choices[j] for j in order)
    asked = {"kind": draft.kind, "answerable": draft.answerable, "wording": draft.wording}
    known = {"origin": "truth", "provenance": "the record", "answer": LETTERS[int(np.argmin(order))]}
    patient, texts = str(notes["patient"].iloc[0]), [choice.plain for choice in choices]
    return question_row(name, patient, notes, params, choices=texts, **asked, **known), choices


def _encounter(prompt: pd.Series, date: str, note: str, mentioned: set[tuple[str, str]]) -> Encounter:
    record = str(prompt["record"])
    avoid = tuple(name for name in json.loads(prompt["avoid"]) if (record, name) not in mentioned)
    mention = tuple(json.loads(prompt["mention"]))
    return Encounter(date, mention, avoid, json.loads(prompt["values"]), json.loads(prompt["descriptors"]), note)


@dataclass
class QuestionMaker(Drawing):
    """Draws questions on one patient's ``visits``."""

    visits: Sequence[Encounter]
    vocabulary: Vocabulary

    def drafts(self, params: NoteQa) -> list[Draft]:
        """Up to ``params.truth_questions`` different questions."""
        kinds = {"findings": self.findings, "descriptor": self.descriptor, "visit": self.visit, "change": self.change}
        found: dict[str, Draft] = {}
        for _ in range(20 * params.truth_questions):
            if len(found) >= params.truth_questions:
                break
            answerable = not self.offer_unknown or self.random.random() >= params.unanswerable_share
            draft = kinds[str(self.random.choice(list(kinds)))](answerable)
            if draft is not None:
                found.setdefault(draft.wording, draft)
        return list(found.values())

    def findings(self, answerable: bool) -> Draft | None:
        """Which combination of values does the note of one visit state for two or three symptoms?"""
        visit = self.any_of(self.visits)
        pool = visit.mention if answerable else visit.avoid
        for size in (2, 3):
            if len(pool) < size:
                return None
            names = [pool[i] for i in self.random.permutation(len(pool))[:size]]
            values = product(*(self.vocabulary.values[name] for name in names))
            options = [self._combination(names, one) for one in values]
            right = self._combination(names, [visit.values[name] for name in names]) if answerable else None
            asked = " and ".join(self.vocabulary.labels[name] for name in names)
            wording = f"What does the note charted on {visit.date} say about the patient's {asked}?"
            if draft := self.closed("findings", wording, right, options):
                return draft
        return None

    def descriptor(self, answerable: bool) -> Draft | None:
        """How is a symptom described? Distractors come from the patient's notes first, then from other patients."""
        visit = self.any_of(self.visits)
        pool = [n for n in visit.mention if visit.descriptors.get(n)] if answerable else list(visit.avoid)
        if not pool:
            return None
        name = self.any_of(pool)
        right = visit.descriptors.get(name) if answerable else None
        own = {d for one in self.visits for d in one.descriptors.values() if d}
        here = {d for other, d in visit.descriptors.items() if d and other != name}  # of other symptoms

        def is_wrong(descriptor: str) -> bool:
            """Whether it is no near synonym of the right one, and not in the note by chance."""
            absent = descriptor in here or descriptor.lower() not in visit.note.lower()
            return absent and not self.vocabulary.are_alike(descriptor, right or "")

        wrong = [d for d in sorted(own) if is_wrong(d)]
        more = [d for d in self.vocabulary.descriptors.get(name, ()) if d not in wrong and is_wrong(d)]
        wrong += [more[i] for i in self.random.permutation(len(more))]
        need = len(LETTERS) - (2 if right and self.offer_unknown else 1)
        wordings = [_described(d) for d in self._unlike(wrong)[:need]]
        wording = f"How is the patient's {self.vocabulary.labels[name]} described in the note charted on {visit.date}?"
        return self.closed("descriptor", wording, _described(right) if right else None, wordings)

    def visit(self, answerable: bool) -> Draft | None:
        """At which of the patient's visits was a symptom present?"""
        name = self._shared(self.visits, answerable)
        if len(self.visits) < 2 or name is None:
            return None
        dates = [visit.date for visit in self.visits]
        right = _at([visit.values[name] not in ABSENT for visit in self.visits], dates) if answerable else None
        options = [_at(present, dates) for present in product([True, False], repeat=len(dates))]
        wording = f"At which of the visits does the patient have {self.vocabulary.labels[name]}?"
        return self.closed("visit", wording, right, options)

    def change(self, answerable: bool) -> Draft | None:
        """How did a symptom change between two consecutive visits?"""
        if len(self.visits) < 2:
            return None
        first = int(self.random.integers(len(self.visits) - 1))
        pair = self.visits[first : first + 2]
        name = self._shared(pair, answerable)
        if name is None:
            return None
        label = self.vocabulary.labels[name]
        right = _course(label, [visit.values[name] for visit in pair]) if answerable else None
        options = [_course(label, values) for values in product(self.vocabulary.values[name], repeat=2)]
        dates = f"from the visit of {pair[0].date} to the visit of {pair[1].date}"
        return self.closed("change", f"How did the patient's {label} change {dates}?", right, options)

    def _shared(self, visits: Sequence[Encounter], answerable: bool) -> str | None:
        """Draw a symptom that all these notes must mention or, for unanswerable questions, that none may mention."""
        sets = [set(visit.mention if answerable else visit.avoid) for visit in visits]
        names = sorted(set.intersection(*sets))
        return self.any_of(names) if names else None

    def _combination(self, names: Sequence[str], values: Sequence[str]) -> Wording:
        """One statement of all values, present symptoms first: "no chills and thirst" could be read as neither."""
        ordered = sorted(zip(names, values, strict=True), key=lambda pair: pair[1] in ABSENT)
        return joined([finding(self.vocabulary.labels[name], value) for name, value in ordered])

    def _unlike(self, descriptors: Sequence[str]) -> list[str]:
        """Drop near synonyms of earlier descriptors: no choice can be ruled out because another says the same."""
        kept: list[str] = []
        for descriptor in descriptors:
            if not any(self.vocabulary.are_alike(descriptor, other) for other in kept):
                kept.append(descriptor)
        return kept


def _described(descriptor: str) -> Wording:
    return Wording(f"As {descriptor}", f"The description given is {descriptor}")


def _at(present: Sequence[bool], dates: Sequence[str]) -> Wording:
    days = [day for day, is_present in zip(dates, present, strict=True) if is_present]
    if not days:
        return Wording("At none of the visits", "There was none on any of the dates")
    listed = " and ".join(days)
    return Wording(f"At the visit{'s' if len(days) > 1 else ''} of {listed}", f"It was there on {listed}")


def _course(label: str, values: Sequence[str]) -> Wording:
    before, after = (finding(label, value).plain for value in values)
    if before == after:
        return Wording(f"{capitalized(before)} at both visits", f"Unchanged: {before} on either day")
    return Wording(f"{capitalized(before)} at first, then {after}", f"It went from {before} to {after}")
