"""Writes the notes that a prompt asks for, and keeps what was known in writing them."""

import random
from dataclasses import dataclass
from hashlib import blake2b

from tasks.simulator.request import ChatRequest
from tasks.simulator.writer import history, unrelated
from tasks.simulator.writer.exam import respiratory_findings, write_exam
from tasks.simulator.writer.line import Line, Mark
from tasks.simulator.writer.order import NOTE_TASKS, read_order
from tasks.simulator.writer.patient import particulars
from tasks.simulator.writer.planting import Plan, plant
from tasks.simulator.writer.rates import ErrorRates, rates_of
from tasks.simulator.writer.surface import sentence

_LONG = ("over 7 days", "at first and later", "chronic", "flare-up")


@dataclass(frozen=True)
class PlantedError:
    """An error put in on purpose. ``start``, ``end``: the phrase that shows it; null where it shows by absence."""

    kind: str
    item: str | None
    start: int | None = None
    end: int | None = None


@dataclass(frozen=True)
class WrittenNote:
    """A note, what its phrases say of symptoms, where its examination begins, and the error planted, if any."""

    text: str
    marks: tuple[Mark, ...]
    exam_start: int
    error: PlantedError | None


def seeded(request: ChatRequest, texts: tuple[str, ...], slot: int = 0) -> random.Random:
    """A generator fixed by prompt text, request seed and slot; the same in every process and on every machine."""
    digest = blake2b("\x1f".join((*texts, str(request.seed), str(slot))).encode(), digest_size=16).digest()
    return random.Random(int.from_bytes(digest, "big"))


def write_notes(request: ChatRequest, rates: ErrorRates | None = None) -> list[WrittenNote]:
    """The notes that the request's prompt asks for: one, or three for three visits."""
    task, prompt = request.task or NOTE_TASKS[0], request.last
    order = read_order(request, task, prompt)
    texts = tuple(text for _, text in request.messages)
    chances = rates or rates_of(request.model)
    if order.respiratory:
        rng = seeded(request, texts)
        return [_respiratory(rng, plant(rng, order, chances))]
    drawn = unrelated.draw_complaints(Line(seeded(request, texts, 99)), order.count)
    notes = []
    for slot, complaint in enumerate(drawn):
        rng = seeded(request, texts, slot)
        notes.append(_unrelated(rng, plant(rng, order, chances), complaint))
    return notes


def _respiratory(rng: random.Random, plan: Plan) -> WrittenNote:
    order = plan.order
    line = Line(rng)
    values = {mention.symptom: mention for mention in order.mentions}
    breathless = "dyspnea" in values and values["dyspnea"].present
    described = " ".join(mention.descriptor or "" for mention in order.mentions)
    kind = "long" if any(word in described for word in _LONG) else rng.choices(("acute", "long"), (74, 26))[0]
    fever = values["fever"].value if "fever" in values else None
    line.variables |= particulars(rng, breathless=breathless, fever=fever, kind="acute" if fever == "high" else kind)
    _heading(line, "**History**\n")
    extra = _Extra(plan)
    extra.history(line, lambda: history.write_history(line, order.mentions, order.conditions))
    _heading(line, "\n\n**Physical Examination**\n")
    exam_start = line.length
    write_exam(line, respiratory_findings(line, order.mentions, order.avoid, order.conditions))
    extra.exam(line)
    return _finished(line, exam_start, plan, extra)


def _unrelated(rng: random.Random, plan: Plan, complaint: unrelated.Complaint) -> WrittenNote:
    line = Line(rng)
    line.variables |= particulars(
        rng, breathless=False, fever=None, kind=rng.choices(("acute", "long", "chronic"), (3, 5, 2))[0]
    )
    _heading(line, "**History**\n")
    extra = _Extra(plan)
    extra.history(line, lambda: unrelated.write_history(line, complaint, plan.order.conditions))
    _heading(line, "\n\n**Physical Examination**\n")
    exam_start = line.length
    write_exam(line, unrelated.findings(line, complaint))
    extra.exam(line)
    return _finished(line, exam_start, plan, extra)


def _heading(line: Line, text: str) -> None:
    line.parts.append(text)
    line.length += len(text)


class _Extra:
    """The sentence that plants an error, and where it came to stand."""

    def __init__(self, plan: Plan) -> None:
        self.plan, self.start, self.end = plan, 0, 0

    def history(self, line: Line, write: "object") -> None:
        node = self.plan.extra_history
        if node is not None and self.plan.kind == "age_or_sex_named":
            self._write(line, node)
        assert callable(write)
        write()
        if node is not None and self.plan.kind != "age_or_sex_named":
            self._write(line, node)

    def exam(self, line: Line) -> None:
        if self.plan.extra_exam is not None:
            self._write(line, self.plan.extra_exam)

    def _write(self, line: Line, node: "object") -> None:
        start = line.length
        sentence(line, node)  # type: ignore[arg-type]
        self.start, self.end = start + (0 if line.text[start] != " " else 1), line.length


def _finished(line: Line, exam_start: int, plan: Plan, extra: _Extra) -> WrittenNote:
    text = line.text
    marks = tuple(sorted(line.marks, key=lambda mark: (mark.start, mark.end, mark.symptom)))
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
