"""Answer a question in a sentence, from the content of the notes."""

from collections import Counter

from tasks.simulator.answerer.questions import Question, understand
from tasks.simulator.answerer.reading import ChartedNote, named, read_notes, status, stems
from tasks.simulator.clinical.findings import in_note
from tasks.simulator.request import ChatRequest
from tasks.text.sentences import sentences

NOT_STATED = "The notes do not tell."


def answer_free(request: ChatRequest) -> str:
    """Reply to ``answer a question from notes``."""
    notes = read_notes(request.tag("notes"))
    if not notes:
        return NOT_STATED
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
        f"{first.capitalize()} at both visits." if first == second else f"{first.capitalize()} at first, then {second}."
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
    return ", ".join(dict.fromkeys(names)).capitalize() + "." if names else NOT_STATED


def _other(asked: Question) -> str:
    """Quote the sentence that shares most words with the question, weighted by rarity."""
    pool = [sentence for note in asked.notes for sentence in sentences(note.text) if len(sentence.split()) > 2]
    often = Counter(word for sentence in pool for word in stems(sentence))
    topic = stems(asked.text)
    best = max(pool, key=lambda sentence: sum(1 / often[w] for w in topic & stems(sentence)), default="")
    return best if topic & stems(best) else NOT_STATED
