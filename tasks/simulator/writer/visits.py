"""Write the note of one visit of a patient: today's note, the course since earlier visits, and the plan.

Today's part is the note that the writer writes for a single visit. The course restates what the prompt says is known,
and seldom contradicts it.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace

from tasks.domains.rules import load_rules
from tasks.simulator.request import ChatRequest
from tasks.simulator.resources import load
from tasks.simulator.visits import COURSE, PLAN, VisitInstructions, Was, read_visit
from tasks.simulator.writer.instructions import NOTE_TASKS, read_instructions
from tasks.simulator.writer.notes import PlantedError, WrittenNote, seeded, write_notes
from tasks.simulator.writer.rules import ErrorRates


@dataclass(frozen=True)
class WrittenVisit:
    """The note of a visit; ``today``: its first part. ``error``: planted in today's part, or of kind earlier_visit."""

    text: str
    today: WrittenNote
    error: PlantedError | None


def write_visit(request: ChatRequest) -> str:
    """Reply to ``write the note of a visit``."""
    return visit_note(request).text


def visit_note(request: ChatRequest, rates: ErrorRates | None = None) -> WrittenVisit:
    """The note of a visit with its planted error: a pure function of the request."""
    asked = read_visit(request.last)
    lines, task = asked.symptoms.split("\n"), NOTE_TASKS[0]
    prompt = "\n".join([f"Task: {task}", *(line for line in lines if not line.startswith("Task:"))])
    inner = replace(request, messages=(*request.messages[:-1], ("user", prompt)))
    today = write_notes(inner, rates)[0]
    rng = seeded(request, (request.last,), slot=7)
    wrong = _contradicted(asked, rng)
    course = list(_course(asked, _values_today(inner, task), wrong, rng))
    text = today.text
    if course:
        text += f"\n\n{COURSE}\n{' '.join(course)}"
    decided = [f"{phrase[:1].upper()}{phrase[1:]}." for phrase in asked.decided] or [
        load("writer", "visits")["nothing"]
    ]
    error = today.error or (PlantedError("earlier_visit", wrong.name) if wrong else None)
    return WrittenVisit(f"{text}\n\n{PLAN}\n{' '.join(decided)}", today, error)


def _values_today(request: ChatRequest, task: str) -> dict[str, bool]:
    """Whether each symptom that the note covers is present today, by its label."""
    labels = load_rules().labels
    mentions = read_instructions(task, request.last).mentions
    return {labels.get(one.symptom, one.symptom): one.present for one in mentions}


def _contradicted(asked: VisitInstructions, rng: random.Random) -> Was | None:
    """The finding of the last visit that the note gets wrong, if any."""
    draw, was = rng.random(), asked.was
    return rng.choice(was) if was and draw < load("writer", "visits")["contradicted"] else None


def _course(asked: VisitInstructions, today: dict[str, bool], wrong: Was | None, rng: random.Random) -> Iterator[str]:
    words = load("writer", "visits")

    def say(kind: str, **fields: object) -> str:
        return str(rng.choice(words[kind])).format(**fields)

    if asked.conditions:
        yield say("conditions", names=", ".join(asked.conditions))
    present = [one for one in asked.was if one.present != (one == wrong)]
    if present:
        yield say("had", day=present[0].day, names=_listed([_leveled(one) for one in present]))
    yield from (say("had_not", day=one.day, name=one.name) for one in asked.was if one not in present)
    yield from (say("decided", day=day, phrase=phrase) for day, phrase in asked.decisions[-2:])
    if asked.was:
        before = {one.name for one in present}
        still = [name for name in before if today.get(name)]
        gone = [name for name in before if today.get(name) is False]
        new = [name for name, has in today.items() if has and name not in before]
        for kind, names in (("still", still), ("gone", gone), ("new", new)):
            if names:
                yield say(kind, names=_listed(sorted(names)))


def _leveled(one: Was) -> str:
    symptom = load_rules().symptom_by_label.get(one.name.lower(), "")
    worded = load_rules().claims.get(symptom, {})
    return worded.get(one.value, one.name) if one.present else one.name


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
