"""Write a question about a patient's notes, and its answer choices, from sentences of the notes."""

import json
import re
import zlib
from dataclasses import dataclass

from tasks.simulator.clinical.findings import Finding, find
from tasks.simulator.clinical.vocabulary import reading
from tasks.simulator.request import ChatRequest
from tasks.text.sentences import sentences

_NOTE = re.compile(
    r"^<note>\nPatient: [^\n]*\nNote: [^\n]*\nDate: (?P<date>[^\n]*)\n\n(?P<text>.*?)\n</note>$",
    re.MULTILINE | re.DOTALL,
)
_ASKED = re.compile(r"^\s+- (.+)$", re.MULTILINE)
_CATEGORIES = ("other_symptom", "drug", "condition", "sign")
_TEMPLATES = {
    "other_symptom": "Which further complaint does the note charted on {date} report, besides {elsewhere}?",
    "drug": "Which medicine does the note charted on {date} mention?",
    "condition": "Which underlying condition does the note charted on {date} mention?",
    "sign": "Which finding on examination does the note charted on {date} report as present?",
}
_ABSENT_TEMPLATE = "Which of these does the note charted on {date} say is absent?"
_FIRST_CHARTED = re.compile(r"On which day was (?P<name>.+) first charted\?")
LETTERS = "ABCDE"


@dataclass(frozen=True)
class _Fact:
    date: str
    finding: Finding
    sentence: str

    @property
    def name(self) -> str:
        return self.finding.concept


def write_question(request: ChatRequest) -> str:
    """Reply to ``write a question about a patient's notes``."""
    asked = set(_ASKED.findall(request.last.rsplit("</notes>", 1)[-1]))
    facts = _facts(request.tag("notes"))
    order = sorted(facts, key=lambda f: zlib.crc32(f"{f.date}{f.name}{f.sentence}".encode()))
    for fact in order:
        question = _question(fact)
        if question not in asked and _single(fact, facts):
            reason = f"As per the note charted on {fact.date}: {fact.sentence}"
            return json.dumps({"question": question, "answer": _answer(fact), "reason": reason})
    dates = sorted({fact.date for fact in facts})
    if not dates:
        return json.dumps({"question": "", "answer": "", "reason": "the notes hold nothing to ask about"})
    return json.dumps(_about_days(facts, dates))


def _facts(block: str) -> list[_Fact]:
    facts = []
    for note in _NOTE.finditer(block):
        for finding in find(note["text"]):
            if finding.polarity != "uncertain" and finding.kind != "weak" and not finding.other:
                sentence = note["text"][finding.sentence[0] : finding.sentence[1]]
                facts.append(_Fact(note["date"], finding, sentence))
    return facts


def _question(fact: _Fact) -> str:
    if fact.finding.polarity == "absent":
        return _ABSENT_TEMPLATE.format(date=fact.date)
    return _TEMPLATES.get(fact.finding.category, _TEMPLATES["other_symptom"]).format(
        date=fact.date, elsewhere=reading().elsewhere
    )


def _single(fact: _Fact, facts: list[_Fact]) -> bool:
    """Whether the fact can be an answer: of a suitable category, and not contradicted in its note."""
    if fact.finding.category not in _CATEGORIES:
        return False
    return not any(
        f.date == fact.date and f.name == fact.name and f.finding.polarity != fact.finding.polarity for f in facts
    )


def _answer(fact: _Fact) -> str:
    return fact.name.capitalize()


def _about_days(facts: list[_Fact], dates: list[str]) -> dict[str, str]:
    """A question that any set of notes can answer: when a finding was first charted."""
    name = min(fact.name for fact in facts)
    return {
        "question": f"On which day was {name} first charted?",
        "answer": min(fact.date for fact in facts if fact.name == name) if dates else "",
        "reason": "the earliest note that speaks of it",
    }


def write_choices(request: ChatRequest) -> str:
    """Reply to ``write answer choices``: the answer and four findings that do not answer the question."""
    question = request.tag("question")
    facts = _facts(request.tag("notes"))
    answer = _answer_to(question, facts)
    pool = _distractors(question, answer, facts, request.tag("notes"))
    shift = zlib.crc32(f"choices of {question}".encode()) + request.seed
    chosen = [pool[(shift + i) % len(pool)] for i in range(min(4, len(pool)))] if pool else []
    position = shift % len(LETTERS)
    texts = [*chosen[:position], answer, *chosen[position:]]
    reply = dict(zip(LETTERS, [*texts, *[""] * len(LETTERS)], strict=False))
    reason = f"{answer} is what the notes say; the others stand in them in another place, or not at all."
    return json.dumps({**reply, "correct": LETTERS[min(position, len(chosen))], "reason": reason})


def _answer_to(question: str, facts: list[_Fact]) -> str:
    """The answer of `write_question` to its own question; empty for a question that it does not ask."""
    asked_day = _FIRST_CHARTED.fullmatch(question)
    if asked_day:
        return min((fact.date for fact in facts if fact.name == asked_day["name"]), default="")
    order = sorted(facts, key=lambda f: zlib.crc32(f"{f.date}{f.name}{f.sentence}".encode()))
    return next((_answer(fact) for fact in order if _question(fact) == question and _single(fact, facts)), "")


def _distractors(question: str, answer: str, facts: list[_Fact], block: str) -> list[str]:
    """Names of findings that do not answer the question, those of the other notes first."""
    date = next(iter(re.findall(r"\d{4}-\d{2}-\d{2}", question)), "")
    absent = "absent" in question
    if re.fullmatch(r"\d{4}-\d{2}-\d{2}", answer):
        return sorted({m["date"] for m in _NOTE.finditer(block)} - {answer})
    right = {f.name for f in facts if f.date == date and _question(f) == question}
    here = [f.name for f in facts if f.date == date and (f.finding.polarity == "absent") != absent]
    elsewhere = [f.name for f in facts if f.date != date]
    named = [n for n in dict.fromkeys([*elsewhere, *here]) if n not in right and n.capitalize() != answer]
    known = {sentence.lower() for m in _NOTE.finditer(block) for sentence in sentences(m["text"])}
    spare = [n for n in _SPARE if n not in right and n.capitalize() != answer and not any(n in s for s in known)]
    return [name.capitalize() for name in [*named, *[n for n in spare if n not in named]][:8]]


_SPARE = ("headache", "nausea", "dizziness", "rash", "palpitations", "joint pain", "back pain", "vomiting")
"""Complaints used as distractors when the notes contain too few findings."""
