"""Answer a question about a patient's notes: choose one of several answers by its support, or write a sentence."""

import re
import zlib
from collections import Counter
from collections.abc import Mapping

from tasks.simulator.answerer.reading import (
    Question,
    described,
    named,
    status,
    stems,
    understand,
)
from tasks.simulator.answerer.timeline import choice_over_time, over_time
from tasks.simulator.clinical.claims import Claims, claims, course, days, not_stated
from tasks.simulator.clinical.findings import in_note
from tasks.simulator.request import ChartedNote, ChatRequest, read_choices, read_notes
from tasks.text.language import capitalized
from tasks.text.sentences import sentences

_FAINT = 0.3
"""Minimum support of a description; below it the answer is that the notes do not say."""


def answer_choice(request: ChatRequest) -> str:
    """Reply to ``answer a multiple-choice question``."""
    choices = read_choices(request.tag("choices"))
    notes = read_notes(request.tag("notes"))
    letter = choose(request.tag("question"), choices, notes)
    return f"Answer: {letter}: {choices[letter]}"


def choose(question: str, choices: Mapping[str, str], notes: list[ChartedNote]) -> str:
    """Return the letter of the best supported choice; without notes "not stated", if it is a choice, or a guess."""
    silent = next((letter for letter, text in choices.items() if not_stated(text)), None)
    real = {letter: text for letter, text in choices.items() if letter != silent}
    if not notes:
        return silent or sorted(choices)[zlib.crc32(f"guess {question}".encode()) % len(choices)]
    if timed := over_time(question, notes):
        return choice_over_time(timed, choices, silent)
    asked = understand(question, notes)
    scores = {letter: _score(asked, text) for letter, text in real.items()}
    best = max(sorted(scores), key=lambda letter: scores[letter])
    threshold = _FAINT if asked.kind == "described" else 0.0
    return silent if silent and scores[best] <= threshold else best


def _score(asked: Question, choice: str) -> float:
    """Support of a choice: positive if the notes state it, 0 if they are silent, negative if they contradict it."""
    if asked.kind == "visits":
        return _choosing_visits(asked, choice)
    if asked.kind == "change" and (claimed_course := course(choice)):
        return sum(_agreement(note, claim, asked) for note, claim in zip(asked.notes, claimed_course, strict=True))
    if asked.kind == "described":
        words = re.sub(r"^as\s+", "", choice, flags=re.IGNORECASE)
        return max((described(note.text, s, words) for note in asked.notes for s in asked.symptoms), default=0.0)
    if asked.kind == "named":
        stated = {name.lower() for note in asked.notes for name in named(note.text, asked.category, asked.denied)}
        return 1.0 if choice.lower() in stated else _lexical(asked, choice) / 100
    if asked.kind == "findings" and (claimed := claims(choice)):
        return sum(_agreement(note, claimed, asked) for note in asked.notes)
    return _lexical(asked, choice)


def _agreement(note: ChartedNote, claimed: Claims, asked: Question) -> float:
    """Sum over the symptoms asked about: +1 for agreement with the note, -1 for contradiction, 0 if not stated."""
    total = 0.0
    for symptom in asked.symptoms:
        stated, claim = status(note.text, symptom), claimed.get(symptom)
        if stated is None or claim is None:
            continue
        if stated == claim:
            total += 1
        elif "absent" in (stated, claim):
            total -= 1
        else:  # both present, at different or unknown levels
            total += 0.5 if "present" in (stated, claim) else -0.5
    return total


def _choosing_visits(asked: Question, choice: str) -> float:
    stated = {note.date: status(note.text, asked.symptoms[0]) for note in asked.notes}
    named = days(choice)
    if named is None or all(value is None for value in stated.values()):
        return 0.0
    meant = named.among(frozenset(stated))
    right = [(date in meant) == (value not in ("absent", None)) for date, value in stated.items()]
    return sum(1 if fits else -1 for fits in right) + 0.5


def _lexical(asked: Question, choice: str) -> float:
    """Weighted share of the choice's words that occur in one sentence with words of the question."""
    texts = [stems(sentence) for note in asked.notes for sentence in sentences(note.text)]
    often = Counter(word for words in texts for word in words)
    topic, wanted = stems(asked.text), stems(choice)
    if not wanted or not texts:
        return 0.0
    best = 0.0
    for words in texts:
        near = 1 + 0.5 * sum(1 / often[w] for w in topic & words)
        best = max(best, near * sum(1 / often[w] for w in wanted & words) / len(wanted))
    held = sum(word in often for word in wanted) / len(wanted)
    return best + 0.5 * held


NOT_STATED = "The notes do not tell."


def answer_free(request: ChatRequest) -> str:
    """Reply to ``answer a question from notes``."""
    notes = read_notes(request.tag("notes"))
    if not notes:
        return NOT_STATED
    if timed := over_time(request.tag("question"), notes):
        return timed.sentence
    asked = understand(request.tag("question"), notes)
    makers = {"findings": _findings, "visits": _visits, "change": _change, "described": _described, "named": _named}
    return makers.get(asked.kind, _other)(asked)


def _findings(asked: Question) -> str:
    texts = [_stated_answer(note, asked) for note in asked.notes]
    known = [(note, text) for note, text in zip(asked.notes, texts, strict=True) if text]
    if not known:
        return NOT_STATED
    if len(known) == 1:
        return f"The note says: {known[0][1]}."
    return " ".join(f"{note.date}: {text}." for note, text in known)


def _stated_answer(note: ChartedNote, asked: Question) -> str:
    states = [(symptom, status(note.text, symptom)) for symptom in asked.symptoms]
    present = [_phrase(s, v) for s, v in states if v not in (None, "absent")]
    absent = [_phrase(s, v) for s, v in states if v == "absent"]
    return " and ".join(present + absent)


def _phrase(symptom: str, value: str | None) -> str:
    return {"absent": f"no {symptom}", "present": symptom}.get(value or "", f"{value} {symptom}")


def _visits(asked: Question) -> str:
    symptom = asked.symptoms[0]
    states = {note.date: status(note.text, symptom) for note in asked.notes}
    if all(value is None for value in states.values()):
        return NOT_STATED
    present = [date for date, value in states.items() if value not in (None, "absent")]
    if not present:
        return "At none of the visits."
    return "At the visit of " + " and ".join(present) + "."


def _change(asked: Question) -> str:
    states = [status(note.text, asked.symptoms[0]) for note in asked.notes]
    if None in states:
        return NOT_STATED
    first, second = (_phrase(asked.symptoms[0], value) for value in states)
    return (
        f"{capitalized(first)} at both visits." if first == second else f"{capitalized(first)} at first, then {second}."
    )


def _described(asked: Question) -> str:
    """Quote the sentences in which the symptom is present."""
    quoted: dict[str, None] = {}
    for note in asked.notes:
        for symptom in asked.symptoms:
            present = {f.sentence for f in in_note(note.text, symptom) if f.polarity == "present"}
            for start, end in sorted(present):
                quoted.setdefault(note.text[start:end])
    return " ".join(quoted) or NOT_STATED


def _named(asked: Question) -> str:
    names = [name for note in asked.notes for name in named(note.text, asked.category, asked.denied)]
    return capitalized(", ".join(dict.fromkeys(names))) + "." if names else NOT_STATED


def _other(asked: Question) -> str:
    """Quote the sentence that shares most words with the question, weighted by rarity."""
    pool = [sentence for note in asked.notes for sentence in sentences(note.text) if len(sentence.split()) > 2]
    often = Counter(word for sentence in pool for word in stems(sentence))
    topic = stems(asked.text)
    best = max(pool, key=lambda sentence: sum(1 / often[w] for w in topic & stems(sentence)), default="")
    return best if topic & stems(best) else NOT_STATED
