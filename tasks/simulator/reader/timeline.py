"""Answer questions about time from the dated notes of a patient's visits.

A note is read for today's findings only: what its course says of earlier visits is in their own notes. A symptom that a
note does not state is absent at its visit.
"""

import re
from collections.abc import Callable, Mapping, Sequence
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

    def has(self, symptom: str) -> bool:
        return status(self.findings, symptom) not in (None, "absent")

    def gives(self, phrase: str) -> bool:
        """Whether the plan has the phrase, and not only denied: "no antibiotics were prescribed"."""
        return re.search(rf"(?<!\bno )\b{re.escape(phrase)}", self.plan, re.IGNORECASE) is not None


def over_time(question: str, notes: Sequence[ChartedNote]) -> Answer | None:
    """The answer to a question about time; None for another question, and for notes that are not of dated visits."""
    for pattern, answer in _KINDS:
        if (asked := pattern.search(question)) and notes and all(_HEADING.match(note.text) for note in notes):
            days = [date.fromisoformat(day) for day in DATE.findall(question)]
            return answer(asked, days, sorted(map(_visit, notes), key=lambda visit: visit.day))
    return None


def choice_over_time(answer: Answer, choices: Mapping[str, str], silent: str | None) -> str:
    """The letter of the choice that has the answer; ``silent`` if the notes do not tell, or no choice has it."""
    if answer.token is not None:
        token = re.compile(rf"(?<![\w-]){re.escape(answer.token)}(?![\w-])", re.IGNORECASE)
        for letter, text in sorted(choices.items()):
            if letter != silent and token.search(text):
                return letter
    return silent or min(choices)


def _visit(note: ChartedNote) -> _Visit:
    *findings, plan = _PLAN.split(_COURSE.sub("", note.text), maxsplit=1)
    return _Visit(date.fromisoformat(note.date), "".join(findings) or plan, plan if findings else "")


def _first(asked: re.Match[str], days: Sequence[date], visits: Sequence[_Visit]) -> Answer:
    at = [visit for visit in _within(visits, days[0]) if _has_any(visit, asked["symptom"])]
    return _dated(at[0]) if at else SILENT


def _last(asked: re.Match[str], days: Sequence[date], visits: Sequence[_Visit]) -> Answer:
    at = [visit for visit in visits if visit.day <= days[0] and _has_any(visit, asked["symptom"])]
    return _dated(at[-1]) if at else SILENT


def _often(asked: re.Match[str], days: Sequence[date], visits: Sequence[_Visit]) -> Answer:
    among = _within(visits, days[0], days[1])
    count = sum(_has_any(visit, asked["symptom"]) for visit in among)
    return Answer(str(count), f"At {count} visit{'' if count == 1 else 's'}.") if among else SILENT


def _long(asked: re.Match[str], days: Sequence[date], visits: Sequence[_Visit]) -> Answer:
    course = [(visit.day, _has_any(visit, asked["symptom"])) for visit in _within(visits, days[0])]
    begun = next((day for day, held in course if held), None)
    ended = next((day for day, held in course if begun and day > begun and not held), None)
    if begun is None or ended is None:
        return SILENT
    lasted = (ended - begun).days
    return Answer(f"{lasted} days", f"{lasted} days.")


def _since(asked: re.Match[str], days: Sequence[date], visits: Sequence[_Visit]) -> Answer:
    among = _within(visits, days[0])
    for visit, following in pairwise(among):
        held = [_has_any(one, asked["symptom"]) for one in (visit, following)]
        if visit.gives(asked["phrase"]) and held == [True, False]:
            return _dated(visit)
    return SILENT


def _changed(asked: re.Match[str], days: Sequence[date], visits: Sequence[_Visit]) -> Answer:
    at = {visit.day: visit for visit in visits}
    if any(day not in at for day in days):
        return SILENT
    names = symptoms_in(asked["symptoms"])
    changed = [name for name in names if at[days[0]].has(name) != at[days[1]].has(name)]
    return _named(changed[0]) if changed else SILENT


def _order(asked: re.Match[str], days: Sequence[date], visits: Sequence[_Visit]) -> Answer:
    names = symptoms_in(asked["symptoms"])
    for visit in _within(visits, days[0]):
        held = [name for name in names if visit.has(name)]
        if len(held) > 1:
            return Answer("same visit", "Two or more of them at the same visit.")
        if held:
            return _named(held[0])
    return SILENT


def _within(visits: Sequence[_Visit], start: date, end: date = date.max) -> list[_Visit]:
    return [visit for visit in visits if start <= visit.day <= end]


def _has_any(visit: _Visit, symptom: str) -> bool:
    """Whether the visit has a symptom, in the words of a question."""
    return any(visit.has(name) for name in symptoms_in(symptom))


def _dated(visit: _Visit) -> Answer:
    return Answer(str(visit.day), f"At the visit of {visit.day}.")


def _named(symptom: str) -> Answer:
    return Answer(symptom, f"{capitalized(symptom)}.")


_DAY = r"\d{4}-\d{2}-\d{2}"
_FROM = rf"^From {_DAY} on, "
_KINDS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str], Sequence[date], Sequence[_Visit]], Answer]], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), answer)
    for pattern, answer in (
        (_FROM + r"at which visit did the patient first have (?P<symptom>.+)\?", _first),
        (rf"^Up to {_DAY}, at which visit did the patient last have (?P<symptom>.+)\?", _last),
        (rf"^From {_DAY} to {_DAY}, at how many visits did the patient have (?P<symptom>.+)\?", _often),
        (
            _FROM + r"how many days lay between the first visit with (?P<symptom>.+) and the next visit without it\?",
            _long,
        ),
        (
            _FROM + r"at which visit with (?P<symptom>.+) was it first so that (?P<phrase>.+) "
            r"and the next visit was without",
            _since,
        ),
        (rf"^Which of (?P<symptoms>.+) did the patient have at one of the visits of {_DAY} and {_DAY}", _changed),
        (_FROM + r"which did the patient have first: (?P<symptoms>.+)\?", _order),
    )
)
