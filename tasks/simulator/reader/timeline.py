"""Answer questions about time from the dated notes of a patient's visits.

A note is read for today's findings only: what its course says of earlier visits is in their own notes. A symptom that a
note does not state is absent at its visit.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import pairwise

from tasks.domains.in_use import domain_cache
from tasks.simulator.reader.findings import level_of, mentions, symptoms_in
from tasks.simulator.reader.lexicon import level_pattern, reading
from tasks.simulator.request import ChartedNote
from tasks.text.language import capitalized

DATE = re.compile(r"\d{4}-\d\d-\d\d")
_HEADING = re.compile(r"\AVisit \d+, \d{4}-\d{2}-\d{2} \(day \d+\)")
_COURSE = re.compile(r"^\*\*Course\*\*\s*$.*?(?=^\*\*Plan\*\*|\Z)", re.MULTILINE | re.DOTALL)
_PLAN = re.compile(r"^\*\*Plan\*\*\s*$", re.MULTILINE)


@domain_cache(maxsize=4_000)
def status(note: str, symptom: str) -> str | None:
    """Present, absent, a level, or None if the note does not mention the symptom; the history counts first."""
    found = [f for f in mentions(note, symptom) if f.kind not in ("weak", "feature")]
    stated = [f for f in found if not f.in_examination]
    stated = stated or [f for f in found if f.polarity == "present" or f.kind != "exam"]
    present = [f for f in found if f.polarity == "present"]
    if not any(f.polarity == "present" for f in stated):
        return "absent" if stated else None
    if symptom != reading().temperature:
        return "present"
    words = " ".join(note[slice(*f.sentence)] for f in present if f.celsius is None)
    worded = [level for level in ("high", "low") if level_pattern(level).search(words)]
    measured = [f.celsius for f in present if f.celsius is not None]
    return worded[0] if len(worded) == 1 else level_of(max(measured)) if measured else "present"


@dataclass(frozen=True)
class Answer:
    """An answer over time: ``token`` is found in the right choice and no other; None if the notes do not tell."""

    token: str | None
    sentence: str


SILENT = Answer(None, "The notes do not tell.")


@dataclass(frozen=True)
class _Visit:
    day: date
    findings: str
    plan: str

    def has(self, names: Sequence[str]) -> bool:
        """Whether the visit has any of these symptoms."""
        return any(status(self.findings, name) not in (None, "absent") for name in names)

    def gives(self, phrase: str) -> bool:
        """Whether the plan has the phrase, and not only denied: "no antibiotics were prescribed"."""
        return re.search(rf"(?<!\bno )\b{re.escape(phrase)}", self.plan, re.IGNORECASE) is not None


def over_time(question: str, notes: Sequence[ChartedNote]) -> Answer | None:
    """The answer to a question about time; None for another question, and for notes that are not of dated visits."""
    for kind, pattern in _KINDS.items():
        if (asked := pattern.search(question)) and notes and all(_HEADING.match(note.text) for note in notes):
            visits = []
            for note in notes:
                *findings, plan = _PLAN.split(_COURSE.sub("", note.text), maxsplit=1)
                found = "".join(findings) or plan, plan if findings else ""
                visits.append(_Visit(date.fromisoformat(note.date), *found))
            days = [date.fromisoformat(day) for day in DATE.findall(question)]
            return _answer(kind, asked, days, sorted(visits, key=lambda visit: visit.day))
    return None


_DAY = r"\d{4}-\d{2}-\d{2}"
_FROM = rf"^From {_DAY} on, "
_KINDS = {
    kind: re.compile(pattern, re.IGNORECASE)
    for kind, pattern in {
        "first": _FROM + r"at which visit did the patient first have (?P<symptom>.+)\?",
        "last": rf"^Up to {_DAY}, at which visit did the patient last have (?P<symptom>.+)\?",
        "often": rf"^From {_DAY} to {_DAY}, at how many visits did the patient have (?P<symptom>.+)\?",
        "long": (
            _FROM + r"how many days lay between the first visit with (?P<symptom>.+) and the next visit without it\?"
        ),
        "since": (
            _FROM + r"at which visit with (?P<symptom>.+) was it first so that (?P<phrase>.+) "
            r"and the next visit was without"
        ),
        "changed": rf"^Which of (?P<symptom>.+) did the patient have at one of the visits of {_DAY} and {_DAY}",
        "order": _FROM + r"which did the patient have first: (?P<symptom>.+)\?",
    }.items()
}


def _answer(kind: str, asked: re.Match[str], days: Sequence[date], visits: Sequence[_Visit]) -> Answer:
    """The answer to a question of one of `_KINDS`, from the visits in order."""
    names, course = symptoms_in(asked["symptom"]), [visit for visit in visits if days[0] <= visit.day]
    if kind == "first":
        return _dated([visit for visit in course if visit.has(names)])
    if kind == "last":
        return _dated([visit for visit in visits[::-1] if visit.day <= days[0] and visit.has(names)])
    if kind == "often":
        among = [visit.has(names) for visit in course if visit.day <= days[1]]
        return Answer(str(sum(among)), f"At {sum(among)} visit{'' if sum(among) == 1 else 's'}.") if among else SILENT
    if kind == "long":
        begun = next((visit.day for visit in course if visit.has(names)), None)
        ended = next((visit.day for visit in course if begun and visit.day > begun and not visit.has(names)), None)
        lasted = f"{(ended - begun).days} days" if begun and ended else None
        return Answer(lasted, f"{lasted}.") if lasted else SILENT
    if kind == "since":
        pairs = pairwise(course)
        return _dated([v for v, after in pairs if v.gives(asked["phrase"]) and v.has(names) and not after.has(names)])
    if kind == "changed":
        at = {visit.day: visit for visit in visits}
        one, other = (at.get(day) for day in days[:2])
        return _named([name for name in names if one and other and one.has([name]) != other.has([name])])
    held = next(filter(None, ([name for name in names if visit.has([name])] for visit in course)), [])
    return Answer("same visit", "Two or more of them at the same visit.") if len(held) > 1 else _named(held)


def _dated(visits: Sequence[_Visit]) -> Answer:
    return Answer(str(visits[0].day), f"At the visit of {visits[0].day}.") if visits else SILENT


def _named(names: Sequence[str]) -> Answer:
    return Answer(names[0], f"{capitalized(names[0])}.") if names else SILENT


def choice_over_time(answer: Answer, choices: Mapping[str, str], silent: str | None) -> str:
    """The letter of the choice that has the answer; ``silent`` if the notes do not tell, or no choice has it."""
    if answer.token is not None:
        token = re.compile(rf"(?<![\w-]){re.escape(answer.token)}(?![\w-])", re.IGNORECASE)
        for letter, text in sorted(choices.items()):
            if letter != silent and token.search(text):
                return letter
    return silent or min(choices)
