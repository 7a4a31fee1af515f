"""Write the note of one visit of a patient: today's note, the course since earlier visits, and the plan.

Today's part is the note that the writer writes for a single visit. The course restates what the prompt says is known,
and seldom contradicts it.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace

from tasks.domains.rules import load_rules
from tasks.simulator.prompts import COURSE, NOTE_TASKS, PLAN, Mention, VisitInstructions, read_visit
from tasks.simulator.request import ChatRequest
from tasks.simulator.resources import load
from tasks.simulator.writer.notes import PlantedError, Truth, instructions_of, seeded, write_notes
from tasks.simulator.writer.rules import ErrorRates


@dataclass(frozen=True)
class WrittenVisit:
    """The note of a visit; ``today``: its first part. ``error``: planted in today's part, or of kind earlier_visit."""

    text: str
    today: Truth
    error: PlantedError | None


def write_visit(request: ChatRequest) -> str:
    """Reply to ``write the note of a visit``."""
    return visit_note(request).text


def visit_note(request: ChatRequest, rates: ErrorRates | None = None) -> WrittenVisit:
    """The note of a visit with its planted error: a pure function of the request."""
    asked, words = read_visit(request.last), load("writer", "visits")
    lines = asked.symptoms.split("\n")
    prompt = "\n".join([f"Task: {NOTE_TASKS[0]}", *(line for line in lines if not line.startswith("Task:"))])
    today = write_notes(replace(request, messages=(*request.messages[:-1], ("user", prompt))), rates)[0]
    rng = seeded(request, (request.last,), slot=7)
    draw = rng.random()
    wrong = rng.choice(asked.was) if asked.was and draw < words["contradicted"] else None
    text = today.text
    if course := list(_course(asked, instructions_of(prompt).mentions, wrong, rng)):
        text += f"\n\n{COURSE}\n{' '.join(course)}"
    decided = [f"{phrase[:1].upper()}{phrase[1:]}." for phrase in asked.decided] or [words["nothing"]]
    error = today.error or (PlantedError("earlier_visit", wrong.symptom) if wrong else None)
    return WrittenVisit(f"{text}\n\n{PLAN}\n{' '.join(decided)}", today, error)


def _course(
    asked: VisitInstructions, today: tuple[Mention, ...], wrong: Mention | None, rng: random.Random
) -> Iterator[str]:
    words, rules = load("writer", "visits"), load_rules()

    def say(kind: str, **fields: object) -> str:
        return str(rng.choice(words[kind])).format(**fields)

    def leveled(one: Mention) -> str:
        worded = rules.claims.get(rules.symptom_by_label.get(one.symptom.lower(), ""), {})
        return worded.get(one.value, one.symptom) if one.present else one.symptom

    if asked.conditions:
        yield say("conditions", names=", ".join(asked.conditions))
    present = [one for one in asked.was if one.present != (one == wrong)]
    if present:
        yield say("had", day=present[0].day, names=_listed([leveled(one) for one in present]))
    yield from (say("had_not", day=one.day, name=one.symptom) for one in asked.was if one not in present)
    yield from (say("decided", day=day, phrase=phrase) for day, phrase in asked.decisions[-2:])
    if asked.was:
        before = {one.symptom for one in present}
        now = {rules.labels.get(one.symptom, one.symptom): one.present for one in today}
        still = [name for name in before if now.get(name)]
        gone = [name for name in before if now.get(name) is False]
        new = [name for name, has in now.items() if has and name not in before]
        for kind, names in (("still", still), ("gone", gone), ("new", new)):
            if names:
                yield say(kind, names=_listed(sorted(names)))


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
