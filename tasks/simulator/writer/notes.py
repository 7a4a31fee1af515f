"""Write the notes that a prompt requests, with their truth, and plant at most one error in each."""

import random
from collections.abc import Callable, Container
from dataclasses import dataclass, replace
from hashlib import blake2b

from tasks.domains.rules import load_rules
from tasks.simulator.prompts import NOTE_TASKS, Instructions, Mention, read_instructions
from tasks.simulator.request import ChatRequest
from tasks.simulator.resources import load
from tasks.simulator.writer import history, unrelated
from tasks.simulator.writer.exam import related_findings, write_exam
from tasks.simulator.writer.grammar import Draft, Finding, Node
from tasks.simulator.writer.history import phrase
from tasks.simulator.writer.rules import (
    NOTE_ERRORS,
    ErrorRates,
    absent_value,
    grammar,
    levels,
    plan,
    present_value,
    rates_of,
    writer_rates,
)
from tasks.simulator.writer.sentences import present_list, sentence

DURATIONS = ("acute", "long", "chronic")
_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def duration(rng: random.Random, kind: str) -> str | Node:
    """Return a duration in words: "five days", "2 weeks", "a week". ``kind``: acute, long (over a week) or chronic."""
    known = load("writer", "settings")["durations"][kind]
    drawn = rng.choice(known) if kind == "chronic" else rng.choices(known, [weight for _, _, weight in known])[0]
    number, unit = drawn[:2]

    def single(draft: Draft) -> None:
        after_past = "".join(draft.parts[-2:]).endswith(("past ", "last "))  # "the past week"
        draft.emit(unit if after_past else f"a {unit}")

    if number == 1:
        return single
    return f"{number if rng.random() < 0.22 else _WORDS[number]} {unit}s"


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
class GoldSpan:
    """A phrase about a symptom: ``text == note[start:end]``. ``present`` is false if it denies the symptom.

    ``symptom``: its name in the network. ``section``: history or physical_examination.
    """

    symptom: str
    start: int
    end: int
    text: str
    section: str
    present: bool


@dataclass(frozen=True)
class Truth:
    """The truth of one written text. ``error`` is the planted error, None in most texts.

    ``left_out``: stretches (start, end) of the normal note that its compact version omits on purpose.
    """

    text: str
    spans: tuple[GoldSpan, ...]
    error: PlantedError | None
    left_out: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class Plan:
    """The content of a note after planting, and the planted error."""

    instructions: Instructions
    kind: str | None = None
    item: str | None = None  # the symptom or condition
    extra_history: Node | None = None
    extra_exam: Node | None = None


def plant(rng: random.Random, instructions: Instructions, rates: ErrorRates) -> Plan:
    """Draw an error with the sum of all rates; its kind is drawn among those that the instructions allow.

    An examination finding of a forbidden symptom is drawn separately, since it is as frequent as in published notes.
    """
    of_kind = {kind: rates.get(kind, 0.0) for kind in NOTE_ERRORS if kind != "forbidden_examined"}
    if rng.random() < sum(of_kind.values()):
        possible = {kind: found for kind, rate in of_kind.items() if rate and (found := _targets(instructions, kind))}
        if possible:
            kind = rng.choices(list(possible), [of_kind[name] for name in possible])[0]
            return _planned(rng, instructions, kind, rng.choice(possible[kind]))
    chance = rates.get("forbidden_examined", 0.0)
    if instructions.mentions and instructions.avoid and rng.random() < chance:
        examined = writer_rates().examined
        if named := [symptom for symptom in instructions.avoid if examined.get(symptom)]:
            symptom = rng.choices(named, [examined[symptom] for symptom in named])[0]
            return Plan(instructions, "forbidden_examined", symptom)
    return Plan(instructions)


def _targets(instructions: Instructions, kind: str) -> list[str]:
    names = [mention.symptom for mention in instructions.mentions]
    if kind == "symptom_dropped":
        return names if len(names) > 1 else []
    if kind == "contradicted":
        others = [] if instructions.avoid else list(load_rules().symptoms)
        return names if instructions.mentions else others
    if kind == "descriptor_lost":
        return [mention.symptom for mention in instructions.mentions if mention.descriptor]
    if kind == "forbidden_mentioned":
        return list(instructions.avoid)
    if kind == "extra_condition":
        listed = instructions.conditions and load_rules().condition_labels  # without a list, none contradicts it
        return [name for name in instructions.forbidden or listed if name not in instructions.conditions]
    return ["note"]


def _planned(rng: random.Random, instructions: Instructions, kind: str, target: str) -> Plan:
    mentions = instructions.mentions
    if kind in ("contradicted", "forbidden_mentioned") and not instructions.mentions:
        return Plan(instructions, kind, target, extra_history=_present_sentence(rng, target))
    if kind == "symptom_dropped":
        mentions = tuple(mention for mention in mentions if mention.symptom != target)
    elif kind == "contradicted":
        mentions = tuple(
            Mention(target, absent_value(target) if m.present else present_value(target)) if m.symptom == target else m
            for m in mentions
        )
    elif kind == "descriptor_lost":
        mentions = tuple(replace(m, descriptor="") if m.symptom == target else m for m in mentions)
    elif kind == "forbidden_mentioned":
        mentions = (*mentions, Mention(target, rng.choice((present_value(target), absent_value(target)))))
        instructions = replace(instructions, avoid=tuple(name for name in instructions.avoid if name != target))
    elif kind == "extra_condition":
        return Plan(instructions, kind, target, extra_history=grammar()[f"error.condition.{target}"])
    elif kind == "diagnosis_named":
        sentence = grammar()["error.diagnosis" if instructions.mentions else "error.diagnosis_other"]
        history, exam = (sentence, None) if rng.random() < 0.5 else (None, sentence)
        return Plan(instructions, kind, extra_history=history, extra_exam=exam)
    else:
        return Plan(instructions, kind, extra_history=grammar()["error.who"])
    return Plan(replace(instructions, mentions=mentions), kind, target)


def _present_sentence(rng: random.Random, symptom: str) -> Node:
    scale = levels(symptom)
    value = rng.choice(scale[::-1]) if scale else present_value(symptom)
    named = present_list([(symptom, phrase(Mention(symptom, value), False))])
    frame = grammar()["frame.later_plain"]

    def write(draft: Draft) -> None:
        draft.variables["nps"] = named
        frame(draft)

    return write


def seeded(request: ChatRequest, texts: tuple[str, ...], slot: int = 0) -> random.Random:
    """Return a generator seeded by prompt text, request seed and slot, independent of process and machine."""
    digest = blake2b("\x1f".join((*texts, str(request.seed), str(slot))).encode(), digest_size=16).digest()
    return random.Random(int.from_bytes(digest, "big"))


def write_note(request: ChatRequest) -> str:
    """Reply to the note-writing tasks. Three notes are separated by lines of ``---``."""
    return BETWEEN_NOTES.join(note.text for note in write_notes(request))


def instructions_of(prompt: str) -> Instructions:
    """Parse a prompt for notes, with symptoms by variable and conditions by label."""
    symptoms = load_rules().symptom_by_label
    conditions = {name.lower(): name for name in load_rules().condition_labels}
    return read_instructions(
        prompt,
        lambda name: symptoms.get(name.strip().lower(), name.strip().lower()),
        lambda name: conditions.get(name.strip().lower(), name.strip()),
    )


def write_notes(
    request: ChatRequest, rates: ErrorRates | None = None, errors: Container[str | None] | None = None
) -> tuple[Truth, ...]:
    """Return the requested notes with their truth: one, or three for three visits.

    ``errors``: none is written unless the error that is drawn for the first one is among these, None being no error.
    Raises ValueError for another task.
    """
    if request.task not in NOTE_TASKS:
        raise ValueError(f"task {request.task!r} writes no note; expected one of {', '.join(NOTE_TASKS)}")
    instructions, count = instructions_of(request.last), 3 if "three" in request.task else 1
    texts = tuple(text for _, text in request.messages)
    plans: list[tuple[random.Random, Plan]] = []
    for slot in range(count):
        rng = seeded(request, texts, slot)
        plans.append((rng, plant(rng, instructions, rates_of(request.model) if rates is None else rates)))
        if errors is not None and plans[0][1].kind not in errors:
            return ()
    if instructions.mentions:
        return (_related(*plans[0]),)
    drawn = unrelated.draw_complaints(Draft(seeded(request, texts, 99)), count)
    return tuple(_unrelated(*planned, complaint) for planned, complaint in zip(plans, drawn, strict=True))


def _related(rng: random.Random, planned: Plan) -> Truth:
    instructions = planned.instructions
    draft = Draft(rng)
    values = {mention.symptom: mention for mention in instructions.mentions}
    breathing, temperature = (values.get(name or "") for name in (plan().breathing, plan().temperature))
    described = " ".join(mention.descriptor for mention in instructions.mentions)
    lasting = [kind for words, kind in plan().lasting.items() if words in described]
    kind = max(lasting, key=DURATIONS.index) if lasting else rng.choices(DURATIONS[:2], (74, 26))[0]
    high = temperature is not None and temperature.value == levels(temperature.symptom)[-1]
    breathless = breathing is not None and breathing.present
    kind = "acute" if high and not lasting else kind
    examined = planned.item if planned.kind == "forbidden_examined" else None
    draft.variables |= particulars(rng, breathless=breathless, feverish=high, kind=kind)
    return _laid_out(
        draft,
        planned,
        lambda: history.write_history(draft, instructions.mentions, instructions.conditions),
        lambda: related_findings(draft, instructions.mentions, instructions.conditions, examined),
    )


def _unrelated(rng: random.Random, planned: Plan, complaint: unrelated.Complaint) -> Truth:
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
) -> Truth:
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
    text, spans = draft.text, []
    for mark in sorted(draft.marks, key=lambda mark: (mark.start, mark.end, mark.symptom)):
        section, said = "physical_examination" if mark.start >= exam_start else "history", text[mark.start : mark.end]
        spans.append(GoldSpan(mark.symptom, mark.start, mark.end, said, section, mark.present))
    error = None
    if planned.kind is not None:
        shown = next((span for span in spans if span.symptom == planned.item), None)
        if not place[1] and shown is not None and planned.kind != "symptom_dropped":
            place = shown.start, shown.end
        error = PlantedError(planned.kind, planned.item, *(place if place[1] else ()))
    return Truth(text, tuple(spans), error)


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
