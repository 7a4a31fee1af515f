"""Picks one of five choices by what the notes tell."""

import re
import zlib
from collections import Counter
from collections.abc import Mapping

from tasks.simulator.answerer.questions import Question, understand
from tasks.simulator.answerer.reading import ChartedNote, described, named, read_notes, status, stems
from tasks.simulator.clinical.claims import Claims, claims, course, days, untold
from tasks.simulator.request import ChatRequest
from tasks.text.sentences import sentences

_CHOICE = re.compile(r"^([A-E]): (.*)$", re.MULTILINE)
_FAINT = 0.3
"""Support of a description below which the notes are held not to tell."""


def answer_choice(request: ChatRequest) -> str:
    """Handler of "answer a multiple-choice question"."""
    choices = {m.group(1): m.group(2) for m in _CHOICE.finditer(request.tag("choices"))}
    notes = read_notes(request.tag("notes"))
    letter = choose(request.tag("question"), choices, notes)
    return f"{letter}: {choices[letter]}"


def choose(question: str, choices: Mapping[str, str], notes: list[ChartedNote]) -> str:
    """The letter of the choice that the notes support best; without notes, "not told" or a guess."""
    not_told = next((letter for letter, text in choices.items() if untold(text)), None)
    real = {letter: text for letter, text in choices.items() if letter != not_told}
    if not notes:
        return not_told or sorted(choices)[zlib.crc32(f"guess {question}".encode()) % len(choices)]
    asked = understand(question, notes)
    scores = {letter: _score(asked, text) for letter, text in real.items()}
    best = max(sorted(scores), key=lambda letter: scores[letter])
    threshold = _FAINT if asked.kind == "described" else 0.0
    return not_told if not_told and scores[best] <= threshold else best


def _score(asked: Question, choice: str) -> float:
    """Support of a choice: positive when the notes tell it, 0 when they say nothing, negative when they contradict."""
    if asked.kind == "visits":
        return _visits(asked, choice)
    if asked.kind == "change" and (claimed_course := course(choice)):
        return sum(_agreement(note, claim, asked) for note, claim in zip(asked.notes, claimed_course, strict=True))
    if asked.kind == "described":
        words = re.sub(r"^as\s+", "", choice, flags=re.IGNORECASE)
        return max((described(note.text, s, words) for note in asked.notes for s in asked.symptoms), default=0.0)
    if asked.kind == "named":
        told = {name.lower() for note in asked.notes for name in named(note.text, asked.category, asked.denied)}
        return 1.0 if choice.lower() in told else _lexical(asked, choice) / 100
    if asked.kind == "findings" and (claimed := claims(choice)):
        return sum(_agreement(note, claimed, asked) for note in asked.notes)
    return _lexical(asked, choice)


def _agreement(note: ChartedNote, claimed: Claims, asked: Question) -> float:
    """+1 for each asked symptom as claimed, -1 for one told otherwise, 0 for one that the note leaves out."""
    total = 0.0
    for symptom in asked.symptoms:
        told, claim = status(note.text, symptom), claimed.get(symptom)
        if told is None or claim is None:
            continue
        if told == claim:
            total += 1
        elif "absent" in (told, claim):
            total -= 1
        else:  # both present, of another or an unknown level
            total += 0.5 if "present" in (told, claim) else -0.5
    return total


def _visits(asked: Question, choice: str) -> float:
    told = {note.date: status(note.text, asked.symptoms[0]) for note in asked.notes}
    named = days(choice)
    if named is None or all(value is None for value in told.values()):
        return 0.0
    meant = named.among(frozenset(told))
    right = [(date in meant) == (value not in ("absent", None)) for date, value in told.items()]
    return sum(1 if fits else -1 for fits in right) + 0.5


def _lexical(asked: Question, choice: str) -> float:
    """Weighted share of the choice's words that stand with the question's words in one sentence of the notes."""
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
