"""Answers questions about a patient's notes with the best covered choice or sentence, writes questions, judges answers.

A statement is read as the states of symptoms that it claims, for one visit or for an earlier and a later one; without
symptoms, by its words. Where the notes do not speak of it, the answer is that they do not tell.
"""

import json
import re
import zlib
from collections.abc import Sequence

from tasks.domains.in_use import domain_cache
from tasks.simulator.reader.entailment import entails
from tasks.simulator.reader.findings import Finding, find, mentions, symptoms_in
from tasks.simulator.reader.lexicon import reading, says, symptoms
from tasks.simulator.reader.spans import find_spans
from tasks.simulator.reader.timeline import DATE, choice_over_time, over_time, status
from tasks.simulator.reader.words import stems
from tasks.simulator.request import ChartedNote, ChatRequest, read_choices, read_notes
from tasks.simulator.resources import vocabulary
from tasks.text.final_answer import final_letter
from tasks.text.language import capitalized
from tasks.text.sentences import sentences

_WORDS = vocabulary()
_NOT_STATED = re.compile(rf"\b{_WORDS['not_stated']}\b", re.IGNORECASE)
_REFUSED = re.compile(r"\b(?:unable to|cannot|can't|could not|won't) (?:answer|say|tell|help|determine)\b", re.I)
_LETTER = re.compile(
    r"^\W*(?:(?i:the\s+)?(?i:correct\s+|right\s+|best\s+)?(?i:answer|choice|option)(?:\s+is)?\s*:?\s*)?\W*"
    r"([A-E])(?![\w'’]|\s[a-z])"
)
_BOTH = re.compile(r"\b(?:both|either|unchanged|each|throughout|all|every)\b", re.IGNORECASE)
_NONE = re.compile(r"\b(?:none|never|neither|no visit|not (?:at|on) any)\b", re.IGNORECASE)
_TURN = re.compile(r",?\s*\bthen\b|\bfrom\b(?P<before>.+?)\bto\b", re.IGNORECASE)
_VISITS = re.compile(r"\b(?:which|what) (?:of the )?(?:visits?|dates?)\b", re.IGNORECASE)
_DESCRIBED = re.compile(r"\b(?:described?|character|nature|kind of)\b", re.IGNORECASE)
_FRAME = re.compile(r"^(?:as|it is|described as|the description given is|at the visit of)\s+", re.IGNORECASE)
_PART = re.compile(r",?\s+(?:and|then)\s+", re.IGNORECASE)
_LEVEL = re.compile(r"\b(high|low)\b", re.IGNORECASE)
_ASKED = re.compile(r"^\s+- (.+)$", re.MULTILINE)
NOT_STATED, LETTERS = "The notes do not tell.", "ABCDE"
_TEMPLATES = {
    "other_symptom": "Which further complaint does the note charted on {date} report, besides {elsewhere}?",
    "drug": "Which medicine does the note charted on {date} mention?",
    "condition": "Which underlying condition does the note charted on {date} mention?",
    "absent": "Which of these does the note charted on {date} say is absent?",
}
_SPARE = ("headache", "nausea", "dizziness", "rash", "palpitations", "joint pain", "back pain", "vomiting")
States = dict[str, str]
"""State of a symptom: present, absent, or its level (high, low)."""


@domain_cache(maxsize=4_000)
def states(text: str) -> States:
    """The state that a short statement claims for each symptom; the last mention counts."""
    claimed: States = {}
    for finding in (f for f in find(text) if f.concept in symptoms()):
        level = _LEVEL.search(text[max(0, finding.start - 15) : finding.end + 25])
        known = finding.concept == reading().temperature and level is not None
        present = level[1].lower() if known and level else "present"
        claimed[finding.concept] = "absent" if finding.polarity == "absent" else present
    return claimed


def _in_time(text: str) -> list[States]:
    """The states that a statement claims: one, or those of an earlier and a later time."""
    days = list(DATE.finditer(text))
    if len(days) == 2 and text[days[0].end() : days[1].start()].strip(" :,;.and"):
        return [states(text[days[0].end() : days[1].start()]), states(text[days[1].end() :])]
    if turn := _TURN.search(text):
        return [states(turn["before"] or text[: turn.start()]), states(text[turn.end() :])]
    return [states(text)] * (2 if _BOTH.search(text) else 1)


def answer(request: ChatRequest) -> str:
    """Reply to the tasks that answer a question: with a choice, or with a sentence."""
    notes, question = read_notes(request.tag("notes")), request.tag("question")
    if request.task == "answer a question from notes":
        return _in_words(question, notes)
    choices = read_choices(request.tag("choices"))
    letter = choose(question, choices, notes)
    return f"Answer: {letter}: {choices[letter]}"


def choose(question: str, choices: dict[str, str], notes: list[ChartedNote]) -> str:
    """The letter of the best supported choice; without support "not stated", if it is a choice, or a guess."""
    silent = next((letter for letter, text in choices.items() if _NOT_STATED.search(text)), None)
    if not notes:
        return silent or sorted(choices)[zlib.crc32(f"guess {question}".encode()) % len(choices)]
    if timed := over_time(question, notes):
        return choice_over_time(timed, choices, silent)
    scores = {letter: _score(question, text, notes) for letter, text in choices.items() if letter != silent}
    best = max(sorted(scores), key=lambda letter: scores[letter])
    return silent if silent and scores[best] <= 0 else best


def _asked_about(question: str, notes: list[ChartedNote]) -> list[ChartedNote]:
    dates = set(DATE.findall(question))
    return [note for note in notes if note.date in dates] or notes


def _score(question: str, choice: str, notes: list[ChartedNote]) -> float:
    """Support of a choice: positive if the notes state it, 0 if they are silent, negative if they contradict it."""
    asked, about = symptoms_in(question), _asked_about(question, notes)
    if asked and _VISITS.search(question):
        known = {note.date: status(note.text, asked[0]) for note in about}
        all_or_none: set[str] | None = set() if _NONE.search(choice) else set(known) if _BOTH.search(choice) else None
        named = set(DATE.findall(choice)) or all_or_none
        if named is None or not any(known.values()):
            return 0.0
        return sum(1 if (day in named) == (one not in (None, "absent")) else -1 for day, one in known.items()) + 0.5
    if asked and _DESCRIBED.search(question):
        words = _FRAME.sub("", choice).strip(" .")
        return max((_describes(note.text, symptom, words) for note in about for symptom in asked), default=0.0)
    claimed = [one for one in _in_time(choice) if one]
    if asked and claimed:
        at = (about[0], about[-1]) if len(claimed) == 2 else about
        stated = claimed if len(claimed) == 2 else claimed * len(about)
        return sum(_agreement(note.text, one, asked) for note, one in zip(at, stated, strict=True))
    concepts = {f.concept for f in find(choice)}
    wanted = "absent" if "absent" in question else "present"
    if any(f.concept in concepts and f.polarity == wanted for note in about for f in find(note.text)):
        return 2.0
    best, content, related = 0.0, stems(choice), stems(question)
    for here in (stems(one) for note in about for one in sentences(note.text) if content):
        best = max(best, len(content & here) / len(content) * (1 + len(related & here)))
    return best


def _describes(note: str, symptom: str, words: str) -> float:
    """1 where a span of the present symptom has the words, less where its sentence does, 0 nowhere."""
    spans = [s for s in find_spans(note) if s.symptom == symptom and s.polarity == "present"]
    if any(says(note[s.start : s.end], words) for s in spans):
        return 1.0
    own = [f.sentence for f in mentions(note, symptom) if f.polarity == "present"]
    return 0.5 * any(says(note[start : end + 150].split("\n")[0], words) for start, end in own)


def _agreement(note: str, claimed: States, asked: Sequence[str]) -> float:
    total = 0.0
    for symptom in asked:
        known, claim = status(note, symptom), claimed.get(symptom)
        if known is not None and claim is not None:
            near = 0.5 if "present" in (known, claim) else -0.5
            total += 1 if known == claim else -1 if "absent" in (known, claim) else near
    return total


def _in_words(question: str, notes: list[ChartedNote]) -> str:
    """The answer to a question in a sentence."""
    if timed := over_time(question, notes) if notes else None:
        return timed.sentence
    asked, about = symptoms_in(question), _asked_about(question, notes)
    known = {note.date: {symptom: status(note.text, symptom) for symptom in asked} for note in about}
    if asked and _VISITS.search(question):
        at = [day for day, one in known.items() if one[asked[0]] not in (None, "absent")]
        return f"At the visit of {' and '.join(at)}." if at else "At none of the visits."
    if asked and not _DESCRIBED.search(question):
        worded = {"absent": "no ", "present": ""}
        said = {
            day: " and ".join(f"{worded.get(value, f'{value} ')}{symptom}" for symptom, value in one.items() if value)
            for day, one in known.items()
        }
        return " ".join(f"{day}: {text}." for day, text in said.items() if text) or NOT_STATED
    pool = [one for note in about for one in sentences(note.text) if len(one.split()) > 2]
    if asked:
        own = [one for one in pool if any(f.concept in asked and f.polarity == "present" for f in find(one))]
        return " ".join(dict.fromkeys(own)) or NOT_STATED
    best = max(pool, key=lambda one: len(stems(question) & stems(one)), default="")
    return best if stems(question) & stems(best) else NOT_STATED


def judge_answer(request: ChatRequest) -> str:
    """Reply whether an answer agrees with the right one."""
    output, right = request.tag("output"), request.tag("right")
    choices = read_choices(request.tag("choices", default=""))
    if choices:
        letter, _, right = right.partition(": ")
        named = final_letter(output) or (alone[1] if (alone := _LETTER.match(output)) else None)
        same = [one for one, text in choices.items() if text.strip(" .").lower() == output.strip(" .").lower()]
        if named or same:
            return "yes" if letter in (named, *same) else "no"
    return "yes" if _same(output, right) else "no"


def _same(output: str, right: str) -> bool:
    """Whether a free-text answer entails a part of the right one: a judge that accepts half an answer."""
    silent = [bool(_NOT_STATED.search(one)) and not DATE.search(one) for one in (output, right)]
    refused = bool(_REFUSED.search(output))
    if any(silent) or refused:
        return silent[1] and (silent[0] or refused)
    return any(entails(output, part) for part in _PART.split(_FRAME.sub("", right)))


def _facts(notes: list[ChartedNote]) -> list[tuple[str, Finding, str]]:
    """(question, finding, sentence) of each finding that may be asked about, in an order that looks random."""
    found = []
    for note in notes:
        for one in find(note.text):
            kind = "absent" if one.polarity == "absent" else one.category
            if one.polarity != "uncertain" and one.kind != "weak" and not one.other and kind in _TEMPLATES:
                question = _TEMPLATES[kind].format(date=note.date, elsewhere=reading().elsewhere)
                found.append((question, one, note.text[slice(*one.sentence)]))
    return sorted(found, key=lambda fact: zlib.crc32(f"{fact[0]}{fact[1].concept}{fact[2]}".encode()))


def write_question(request: ChatRequest) -> str:
    """Reply with a question about a patient's notes that was not asked before, or with answer choices to one."""
    notes = read_notes(request.tag("notes"))
    listed = _facts(notes)
    if request.task == "write answer choices":
        return _choices(request.tag("question"), listed, request.seed)
    asked = set(_ASKED.findall(request.last))
    fact = next((fact for fact in listed if fact[0] not in asked), listed[0] if listed else None)
    if fact is None:
        return json.dumps({"question": "", "answer": "", "reason": "the notes hold nothing to ask about"})
    return json.dumps({"question": fact[0], "answer": capitalized(fact[1].concept), "reason": fact[2]})


def _choices(question: str, listed: list[tuple[str, Finding, str]], seed: int) -> str:
    """The answer and four findings that do not answer the question, those of the notes first."""
    right = [finding.concept for asked, finding, _ in listed if asked == question]
    names = dict.fromkeys([finding.concept for _, finding, _ in listed if finding.concept not in right])
    pool = [*names, *(name for name in _SPARE if name not in names and name not in right)]
    shift = zlib.crc32(f"choices of {question}".encode()) + seed
    texts = [capitalized(pool[(shift + i) % len(pool)]) for i in range(min(4, len(pool)))]
    position = min(shift % len(LETTERS), len(texts))
    texts.insert(position, capitalized(right[0]) if right else "")
    reply = dict(zip(LETTERS, [*texts, *[""] * len(LETTERS)], strict=False))
    return json.dumps({**reply, "correct": LETTERS[position], "reason": "The notes say this and none of the others."})
