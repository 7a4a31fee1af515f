"""Write a question about a patient's notes, and its answer choices, from sentences of the notes."""

import json
import re
import zlib
from dataclasses import dataclass

from tasks.simulator.clinical.findings import Finding, find
from tasks.simulator.clinical.lexicon import reading
from tasks.simulator.request import ChartedNote, ChatRequest, read_notes
from tasks.text.language import capitalized
from tasks.text.sentences import sentences

_ASKED = re.compile(r"^\s+- (.+)$", re.MULTILINE)
_TEMPLATES = {
    "other_symptom": "Which further complaint does the note charted on {date} report, besides {elsewhere}?",
    "drug": "Which medicine does the note charted on {date} mention?",
    "condition": "Which underlying condition does the note charted on {date} mention?",
    "sign": "Which finding on examination does the note charted on {date} report as present?",
    "absent": "Which of these does the note charted on {date} say is absent?",
}
_FIRST_CHARTED = re.compile(r"On which day was (?P<name>.+) first charted\?")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_LETTERS = "ABCDE"
_SPARE = ("headache", "nausea", "dizziness", "rash", "palpitations", "joint pain", "back pain", "vomiting")
"""Complaints used as distractors when the notes contain too few findings."""


@dataclass(frozen=True)
class _Fact:
    """A finding of a note, by which a question may be answered."""

    date: str
    finding: Finding
    sentence: str

    @property
    def name(self) -> str:
        return self.finding.concept

    @property
    def answer(self) -> str:
        return capitalized(self.name)

    @property
    def question(self) -> str:
        kind = "absent" if self.finding.polarity == "absent" else self.finding.category
        template = _TEMPLATES.get(kind, _TEMPLATES["other_symptom"])
        return template.format(date=self.date, elsewhere=reading().elsewhere)

    @property
    def order(self) -> int:
        """Place of the fact in the order in which questions are asked."""
        return zlib.crc32(f"{self.date}{self.name}{self.sentence}".encode())


def write_question(request: ChatRequest) -> str:
    """Reply to ``write a question about a patient's notes``."""
    asked = set(_ASKED.findall(request.last.rsplit("</notes>", 1)[-1]))
    facts = _facts(read_notes(request.tag("notes")))
    for fact in sorted(facts, key=lambda f: f.order):
        if fact.question not in asked and _single(fact, facts):
            reason = f"As per the note charted on {fact.date}: {fact.sentence}"
            return json.dumps({"question": fact.question, "answer": fact.answer, "reason": reason})
    if not facts:
        return json.dumps({"question": "", "answer": "", "reason": "the notes hold nothing to ask about"})
    name = min(fact.name for fact in facts)  # a question that any set of notes can answer: when a finding was charted
    reply = {"question": f"On which day was {name} first charted?", "answer": _first_charted(name, facts)}
    return json.dumps({**reply, "reason": "the earliest note that speaks of it"})


def _facts(notes: list[ChartedNote]) -> list[_Fact]:
    return [
        _Fact(note.date, finding, note.text[slice(*finding.sentence)])
        for note in notes
        for finding in find(note.text)
        if finding.polarity != "uncertain" and finding.kind != "weak" and not finding.other
    ]


def _single(fact: _Fact, facts: list[_Fact]) -> bool:
    """Whether the fact can be an answer: of a suitable category, and not contradicted in its note."""
    polarities = {f.finding.polarity for f in facts if f.date == fact.date and f.name == fact.name}
    return fact.finding.category in _TEMPLATES and len(polarities) == 1


def _first_charted(name: str, facts: list[_Fact]) -> str:
    return min((fact.date for fact in facts if fact.name == name), default="")


def write_choices(request: ChatRequest) -> str:
    """Reply to ``write answer choices``: the answer and four findings that do not answer the question."""
    question, notes = request.tag("question"), read_notes(request.tag("notes"))
    facts = _facts(notes)
    answer = _answer_to(question, facts)
    pool = _distractors(question, answer, facts, notes)
    shift = zlib.crc32(f"choices of {question}".encode()) + request.seed
    chosen = [pool[(shift + i) % len(pool)] for i in range(min(4, len(pool)))]
    position = shift % len(_LETTERS)
    texts = [*chosen[:position], answer, *chosen[position:]]
    reply = dict(zip(_LETTERS, [*texts, *[""] * len(_LETTERS)], strict=False))
    reason = f"{answer} is what the notes say; the others stand in them in another place, or not at all."
    return json.dumps({**reply, "correct": _LETTERS[min(position, len(chosen))], "reason": reason})


def _answer_to(question: str, facts: list[_Fact]) -> str:
    """The answer of `write_question` to its own question; empty for a question that it does not ask."""
    if asked_day := _FIRST_CHARTED.fullmatch(question):
        return _first_charted(asked_day["name"], facts)
    fitting = [fact for fact in facts if fact.question == question and _single(fact, facts)]
    return min(fitting, key=lambda f: f.order).answer if fitting else ""


def _distractors(question: str, answer: str, facts: list[_Fact], notes: list[ChartedNote]) -> list[str]:
    """Names of findings that do not answer the question, those of the other notes first."""
    if _DATE.fullmatch(answer):
        return sorted({note.date for note in notes} - {answer})
    day = _DATE.search(question)
    here = [f for f in facts if day and f.date == day.group()]
    elsewhere = [f for f in facts if not (day and f.date == day.group())]
    right = {f.name for f in here if f.question == question}
    polarity_asked = [f for f in here if (f.finding.polarity == "absent") != ("absent" in question)]
    known = {sentence.lower() for note in notes for sentence in sentences(note.text)}
    spare = [name for name in _SPARE if not any(name in sentence for sentence in known)]
    names = dict.fromkeys([*(f.name for f in (*elsewhere, *polarity_asked)), *spare])
    return [capitalized(name) for name in names if name not in right and capitalized(name) != answer][:8]
