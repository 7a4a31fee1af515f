"""Known truth of a written note: the gold spans and the planted error.

A pure function of the request and the package version, computed by the code that writes the note. It is not available
over HTTP; only calibration and the simulator-quality tables call it, never a judge.
"""

from dataclasses import dataclass, replace

from tasks.simulator.request import ChatRequest
from tasks.simulator.writer.compact_version import source_note, write_compact
from tasks.simulator.writer.instructions import COMPACT_TASK, NOTE_TASKS
from tasks.simulator.writer.notes import PlantedError, WrittenNote, write_notes
from tasks.simulator.writer.rules import COMPACT_ERRORS, NOTE_ERRORS, ErrorRates

ERROR_KINDS = {"normal": NOTE_ERRORS, "compact": COMPACT_ERRORS}
"""Kinds of planted errors by note version."""

__all__ = ["ERROR_KINDS", "ErrorRates", "GoldSpan", "PlantedError", "Truth", "compact_truth", "truth"]


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


def truth(request: ChatRequest, rates: ErrorRates | None = None) -> tuple[Truth, ...]:
    """Return the truth of each text in the reply: one, or three for three notes.

    For a compact version the note's truth is recomputed from the first user message, if the conversation's note is
    the writer's reply to it under the same seed; otherwise use `compact_truth`. Raises ValueError for a request
    that the writer does not answer, and for a compact version of a note that it did not write.
    """
    if request.task in NOTE_TASKS:
        return tuple(_of_note(note) for note in write_notes(request, rates))
    if request.task != COMPACT_TASK:
        raise ValueError(
            f"unknown writing task {request.task!r}; expected one of {', '.join((*NOTE_TASKS, COMPACT_TASK))}"
        )
    first = _first_request(request)
    own = next((note for note in truth(first) if note.text == source_note(request)), None)
    if own is None:
        raise ValueError("the note is not the writer's reply to the first message; pass its truth to compact_truth")
    return (compact_truth(request, own, rates),)


def compact_truth(request: ChatRequest, note: Truth, rates: ErrorRates | None = None) -> Truth:
    """Return the truth of a compact version, given that of the normal note in the conversation.

    Raises ValueError if ``note`` is not the conversation's note.
    """
    if note.text != source_note(request):
        raise ValueError("the given truth belongs to another note than the conversation's")
    written = write_compact(request, rates)
    text = written.compact.text
    exam = written.compact.locate(*_heading(note.text))
    spans = []
    for span in note.spans:
        place = written.compact.locate(span.start, span.end)
        if place is not None:
            section = "physical_examination" if exam and place[0] >= exam[0] else "history"
            spans.append(GoldSpan(span.symptom, *place, text[slice(*place)], section, span.present))
    return Truth(text, tuple(spans), written.error, tuple(written.compact.left_out))


def _of_note(note: WrittenNote) -> Truth:
    spans = []
    for mark in note.marks:
        section = "physical_examination" if mark.start >= note.exam_start else "history"
        spans.append(
            GoldSpan(mark.symptom, mark.start, mark.end, note.text[mark.start : mark.end], section, mark.present)
        )
    return Truth(note.text, tuple(spans), note.error)


def _first_request(request: ChatRequest) -> ChatRequest:
    until = next(n for n, (role, _) in enumerate(request.messages) if role == "assistant")
    return replace(request, messages=request.messages[:until])


def _heading(note: str) -> tuple[int, int]:
    start = note.find("**Physical Examination**")
    return start, start + len("**Physical Examination**")
