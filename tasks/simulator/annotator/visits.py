"""Check the note of a visit: today's part as any note, and what it says of earlier visits against what was known."""

import json
from collections.abc import Iterator

from tasks.simulator.annotator import instructions
from tasks.simulator.annotator.consistency import Departure, departures
from tasks.simulator.clinical.claims import DATE
from tasks.simulator.clinical.findings import in_note
from tasks.simulator.clinical.lexicon import symptoms
from tasks.simulator.request import ChatRequest
from tasks.simulator.visits import COURSE, PLAN, VisitInstructions, read_visit
from tasks.text.sentences import sentences


def check_visit(request: ChatRequest) -> str:
    """Reply to ``check the note of a visit``."""
    asked = read_visit(request.tag("instructions"))
    body, _, plan = request.tag("note").partition(PLAN)
    today, _, course = body.partition(COURSE)
    found = departures(today.strip(), instructions.read(asked.symptoms))
    found += [*_contradicted(course, asked), *_undecided(plan, asked)]
    said = "; ".join(departure.said for departure in found)
    return json.dumps({"consistent": not found, "explanation": f"{said[:1].upper()}{said[1:]}." if said else ""})


def _contradicted(course: str, asked: VisitInstructions) -> Iterator[Departure]:
    """Departures of sentences that name the date of an earlier visit."""
    dated = [(day.group(), sentence) for sentence in sentences(course) if (day := DATE.search(sentence))]
    for was in asked.was:
        name = instructions.symptom(was.name)
        if name not in symptoms():
            continue
        for said in (found for day, text in dated if day == was.day for found in in_note(text, name)):
            if (said.polarity == "present") != was.present:
                about = f"what the note says of {name} on {was.day} contradicts that visit: {was.value}"
                yield Departure("earlier_visit", name, about)


def _undecided(plan: str, asked: VisitInstructions) -> Iterator[Departure]:
    for phrase in asked.decided:
        if phrase.lower() not in plan.lower():
            yield Departure("decision", phrase, f"the plan does not state: {phrase}")
