"""Write the notes that a prompt requests, with their truth."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b

from tasks.simulator.request import ChatRequest
from tasks.simulator.writer import history, unrelated
from tasks.simulator.writer.draft import Draft, Mark, Node
from tasks.simulator.writer.exam import write_exam
from tasks.simulator.writer.exam_findings import related_findings
from tasks.simulator.writer.instructions import NOTE_TASKS, Instructions, read_instructions
from tasks.simulator.writer.patient import particulars
from tasks.simulator.writer.plan import levels, plan
from tasks.simulator.writer.planting import Plan, plant
from tasks.simulator.writer.rates import ErrorRates, rates_of
from tasks.simulator.writer.rules import second_wording
from tasks.simulator.writer.sentences import sentence

BETWEEN_NOTES = "\n---\n"
SECOND = "-second"
"""End of the names of models that write with the domain's second wording of the symptoms."""


@dataclass(frozen=True)
class PlantedError:
    """A planted error. ``start``, ``end``: the phrase that shows it; None if it shows by absence."""

    kind: str
    item: str | None
    start: int | None = None
    end: int | None = None


@dataclass(frozen=True)
class WrittenNote:
    """A note, its symptom spans, the start of its examination, and the planted error, if any."""

    text: str
    marks: tuple[Mark, ...]
    exam_start: int
    error: PlantedError | None


def seeded(request: ChatRequest, texts: tuple[str, ...], slot: int = 0) -> random.Random:
    """Return a generator seeded by prompt text, request seed and slot, independent of process and machine."""
    digest = blake2b("\x1f".join((*texts, str(request.seed), str(slot))).encode(), digest_size=16).digest()
    return random.Random(int.from_bytes(digest, "big"))


def write_note(request: ChatRequest) -> str:
    """Reply to the note-writing tasks. Three notes are separated by lines of ``---``."""
    return BETWEEN_NOTES.join(note.text for note in write_notes(request))


def write_notes(request: ChatRequest, rates: ErrorRates | None = None) -> list[WrittenNote]:
    """Return the requested notes: one, or three for three visits."""
    task, prompt = request.task or NOTE_TASKS[0], request.last
    instructions = read_instructions(request, task, prompt)
    with second_wording(request.model.endswith(SECOND)):
        return _written(request, instructions, rates or rates_of(request.model))


def _written(request: ChatRequest, instructions: Instructions, rates: ErrorRates) -> list[WrittenNote]:
    texts = tuple(text for _, text in request.messages)
    if instructions.related:
        rng = seeded(request, texts)
        return [_related(rng, plant(rng, instructions, rates))]
    drawn = unrelated.draw_complaints(Draft(seeded(request, texts, 99)), instructions.count)
    notes = []
    for slot, complaint in enumerate(drawn):
        rng = seeded(request, texts, slot)
        notes.append(_unrelated(rng, plant(rng, instructions, rates), complaint))
    return notes


def _related(rng: random.Random, planned: Plan) -> WrittenNote:
    instructions = planned.instructions
    draft = Draft(rng)
    values = {mention.symptom: mention for mention in instructions.mentions}
    breathing, temperature = (values.get(name or "") for name in (plan().breathing, plan().temperature))
    described = " ".join(mention.descriptor or "" for mention in instructions.mentions)
    kind = "long" if any(word in described for word in plan().lasting) else rng.choices(("acute", "long"), (74, 26))[0]
    high = temperature is not None and temperature.value == levels(temperature.symptom)[-1]
    breathless = breathing is not None and breathing.present
    draft.variables |= particulars(rng, breathless=breathless, feverish=high, kind="acute" if high else kind)
    _heading(draft, "**History**\n")
    extra = _Extra(planned)
    extra.history(draft, lambda: history.write_history(draft, instructions.mentions, instructions.conditions))
    _heading(draft, "\n\n**Physical Examination**\n")
    exam_start = draft.length
    write_exam(draft, related_findings(draft, instructions.mentions, instructions.conditions, planned.examined))
    extra.exam(draft)
    return _finished(draft, exam_start, planned, extra)


def _unrelated(rng: random.Random, plan: Plan, complaint: unrelated.Complaint) -> WrittenNote:
    draft = Draft(rng)
    draft.variables |= particulars(
        rng, breathless=False, feverish=False, kind=rng.choices(("acute", "long", "chronic"), (3, 5, 2))[0]
    )
    _heading(draft, "**History**\n")
    extra = _Extra(plan)
    stated, silent = plan.instructions.conditions, bool(plan.instructions.avoid)
    extra.history(draft, lambda: unrelated.write_history(draft, complaint, stated, silent=silent))
    _heading(draft, "\n\n**Physical Examination**\n")
    exam_start = draft.length
    write_exam(draft, unrelated.findings(draft, complaint))
    extra.exam(draft)
    return _finished(draft, exam_start, plan, extra)


def _heading(draft: Draft, text: str) -> None:
    draft.parts.append(text)
    draft.length += len(text)


class _Extra:
    """Writes the sentence that plants an error and records its offsets."""

    def __init__(self, plan: Plan) -> None:
        self.plan, self.start, self.end = plan, 0, 0

    def history(self, draft: Draft, write: Callable[[], None]) -> None:
        first = self.plan.kind == "age_or_sex_named"
        if first:
            self._write(draft, self.plan.extra_history)
        write()
        if not first:
            self._write(draft, self.plan.extra_history)

    def exam(self, draft: Draft) -> None:
        self._write(draft, self.plan.extra_exam)

    def _write(self, draft: Draft, node: Node | None) -> None:
        if node is None:
            return
        start = draft.length
        sentence(draft, node)
        self.start, self.end = start + (0 if draft.text[start] != " " else 1), draft.length


def _finished(draft: Draft, exam_start: int, plan: Plan, extra: _Extra) -> WrittenNote:
    text = draft.text
    marks = tuple(sorted(draft.marks, key=lambda mark: (mark.start, mark.end, mark.symptom)))
    return WrittenNote(text, marks, exam_start, _error(plan, extra, marks))


def _error(plan: Plan, extra: _Extra, marks: tuple[Mark, ...]) -> PlantedError | None:
    if plan.kind is None:
        return None
    if extra.end:
        return PlantedError(plan.kind, plan.item, extra.start, extra.end)
    shown = next((mark for mark in marks if mark.symptom == plan.item), None)
    if plan.kind == "symptom_dropped" or shown is None:
        return PlantedError(plan.kind, plan.item)
    return PlantedError(plan.kind, plan.item, shown.start, shown.end)
