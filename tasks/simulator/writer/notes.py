"""Write the notes that a prompt requests, with their truth."""

import random
from collections.abc import Callable, Container
from dataclasses import dataclass
from hashlib import blake2b

from tasks.simulator.request import ChatRequest
from tasks.simulator.resources import load
from tasks.simulator.writer import history, unrelated
from tasks.simulator.writer.exam import related_findings, write_exam
from tasks.simulator.writer.grammar import Draft, Finding, Mark, Node
from tasks.simulator.writer.instructions import NOTE_TASKS, Instructions, read_instructions
from tasks.simulator.writer.plan import levels, plan
from tasks.simulator.writer.planting import Plan, plant
from tasks.simulator.writer.rules import ErrorRates, rates_of
from tasks.simulator.writer.sentences import sentence

DURATIONS = ("acute", "long", "chronic")
_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def duration(rng: random.Random, kind: str) -> str | Node:
    """Return a duration in words: "five days", "2 weeks", "a week". ``kind``: acute, long (over a week) or chronic."""
    known = load("writer", "settings")["durations"][kind]
    drawn = rng.choice(known) if kind == "chronic" else rng.choices(known, [weight for _, _, weight in known])[0]
    number, unit = drawn[:2]
    if number == 1:
        return _single(unit)
    shown = str(number) if rng.random() < 0.22 else _WORDS[number]
    return f"{shown} {unit}s"


def _single(unit: str) -> Node:
    """Write "week" after "the past", otherwise "a week"."""

    def write(draft: Draft) -> None:
        before = "".join(draft.parts[-2:])
        draft.emit(unit if before.endswith(("past ", "last ")) else f"a {unit}")

    return write


def _degrees(celsius: float, fahrenheit: bool) -> str:
    return f"{celsius * 1.8 + 32:.1f}°F" if fahrenheit else f"{celsius:.1f}°C"


def particulars(rng: random.Random, *, breathless: bool, feverish: bool, kind: str) -> dict[str, str | Node]:
    """Return the variables of a visit. ``breathless``, ``feverish``: quick breathing, quick pulse."""
    fahrenheit = rng.random() < 0.3
    side = rng.choice(("right", "left"))
    pulse = rng.randint(101, 118) if feverish else rng.randint(62, 96 if breathless else 88)
    rate = rng.randint(20, 26) if breathless else rng.randint(13, 18)
    high, low = rng.uniform(38.7, 39.8), rng.uniform(37.6, 38.1)  # at home up to 0.3 higher
    return {
        "dur": duration(rng, kind),
        "temp_high": _degrees(high, fahrenheit),
        "temp_high_home": _degrees(high + rng.uniform(0.1, 0.3), fahrenheit),
        "temp_low": _degrees(low, fahrenheit),
        "temp_low_home": _degrees(low + rng.uniform(0.1, 0.3), fahrenheit),
        "temp_normal": _degrees(rng.uniform(36.4, 37.0), fahrenheit),
        "bp": f"{2 * rng.randint(54, 68)}/{2 * rng.randint(35, 43)}",
        "hr": str(pulse),
        "rr": str(rate),
        "rr_high": str(rate if breathless else rng.randint(21, 27)),
        "sat": str(rng.randint(92, 96) if breathless else rng.randint(96, 99)),
        "side": side,
        "side_lobe": f"over the {side} lower lobe",
        "age": str(rng.randint(22, 79)),
        "He": rng.choice(("She", "He")),
    }


BETWEEN_NOTES = "\n---\n"


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


def write_notes(
    request: ChatRequest, rates: ErrorRates | None = None, errors: Container[str | None] | None = None
) -> list[WrittenNote]:
    """Return the requested notes: one, or three for three visits.

    ``errors``: none is written unless the error that is drawn for the first one is among these, None being no error.
    """
    instructions = _instructions(request)
    first = _planted_plan(request, instructions, rates)
    if errors is not None and first[1].kind not in errors:
        return []
    if instructions.related:
        return [_related(*first)]
    texts = tuple(text for _, text in request.messages)
    drawn = unrelated.draw_complaints(Draft(seeded(request, texts, 99)), instructions.count)
    plans = [first, *(_planted_plan(request, instructions, rates, slot) for slot in range(1, instructions.count))]
    return [_unrelated(*planned, complaint) for planned, complaint in zip(plans, drawn, strict=True)]


def _instructions(request: ChatRequest) -> Instructions:
    return read_instructions(request.task or NOTE_TASKS[0], request.last)


def _planted_plan(
    request: ChatRequest, instructions: Instructions, rates: ErrorRates | None, slot: int = 0
) -> tuple[random.Random, Plan]:
    """The generator of a note's draws, and its plan, drawn from it."""
    rng = seeded(request, tuple(text for _, text in request.messages), slot)
    return rng, plant(rng, instructions, rates or rates_of(request.model))


def _related(rng: random.Random, planned: Plan) -> WrittenNote:
    instructions = planned.instructions
    draft = Draft(rng)
    values = {mention.symptom: mention for mention in instructions.mentions}
    breathing, temperature = (values.get(name or "") for name in (plan().breathing, plan().temperature))
    described = " ".join(mention.descriptor or "" for mention in instructions.mentions)
    lasting = [kind for words, kind in plan().lasting.items() if words in described]
    kind = max(lasting, key=DURATIONS.index) if lasting else rng.choices(DURATIONS[:2], (74, 26))[0]
    high = temperature is not None and temperature.value == levels(temperature.symptom)[-1]
    breathless = breathing is not None and breathing.present
    kind = "acute" if high and not lasting else kind
    draft.variables |= particulars(rng, breathless=breathless, feverish=high, kind=kind)
    return _laid_out(
        draft,
        planned,
        lambda: history.write_history(draft, instructions.mentions, instructions.conditions),
        lambda: related_findings(draft, instructions.mentions, instructions.conditions, planned.examined),
    )


def _unrelated(rng: random.Random, planned: Plan, complaint: unrelated.Complaint) -> WrittenNote:
    draft = Draft(rng)
    kind = complaint.lasts or rng.choices(DURATIONS, (3, 5, 2))[0]
    draft.variables |= particulars(rng, breathless=False, feverish=False, kind=kind)
    stated, silent = planned.instructions.conditions, bool(planned.instructions.avoid)
    return _laid_out(
        draft,
        planned,
        lambda: unrelated.write_history(draft, complaint, stated, silent=silent),
        lambda: unrelated.findings(draft, complaint),
    )


def _laid_out(
    draft: Draft, planned: Plan, write_history: Callable[[], None], find: Callable[[], list[Finding]]
) -> WrittenNote:
    """The note with its two sections, and the sentence that plants an error at its place."""
    place = (0, 0)
    _heading(draft, "**History**\n")
    if planned.kind == "age_or_sex_named":
        place = _planted(draft, planned.extra_history)
        write_history()
    else:
        write_history()
        place = _planted(draft, planned.extra_history)
    _heading(draft, "\n\n**Physical Examination**\n")
    exam_start = draft.length
    write_exam(draft, find())
    place = max(place, _planted(draft, planned.extra_exam))
    marks = tuple(sorted(draft.marks, key=lambda mark: (mark.start, mark.end, mark.symptom)))
    return WrittenNote(draft.text, marks, exam_start, _error(planned, place, marks))


def _heading(draft: Draft, text: str) -> None:
    draft.parts.append(text)
    draft.length += len(text)


def _planted(draft: Draft, node: Node | None) -> tuple[int, int]:
    """Write the sentence that plants an error, if any, and return its offsets; (0, 0) without one."""
    if node is None:
        return 0, 0
    start = draft.length
    sentence(draft, node)
    return start + (draft.text[start] == " "), draft.length


def _error(planned: Plan, place: tuple[int, int], marks: tuple[Mark, ...]) -> PlantedError | None:
    if planned.kind is None:
        return None
    if place[1]:
        return PlantedError(planned.kind, planned.item, *place)
    shown = next((mark for mark in marks if mark.symptom == planned.item), None)
    if planned.kind == "symptom_dropped" or shown is None:
        return PlantedError(planned.kind, planned.item)
    return PlantedError(planned.kind, planned.item, shown.start, shown.end)
