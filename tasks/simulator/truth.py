"""Known truth of a written note: the gold spans and the planted error.

Two pure functions of the request and the package version, `truth` and `compact_truth`, computed by the code that
writes the text. It is not available over HTTP; only the cases of measures call it (`tasks.judges`), never a judge.
"""

from collections.abc import Container
from dataclasses import dataclass

from tasks.simulator.request import ChatRequest
from tasks.simulator.writer.compact_version import source_note, write_compact
from tasks.simulator.writer.instructions import NOTE_TASKS
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


def truth(
    request: ChatRequest, rates: ErrorRates | None = None, errors: Container[str | None] | None = None
) -> tuple[Truth, ...]:
    """Return the truth of each text in the reply: one, or three for three notes.

    ``errors``: nothing is written unless the error planned for the first note is among these, None being no error.
    Raises ValueError for another task.
    """
    if request.task not in NOTE_TASKS:
        raise ValueError(f"task {request.task!r} writes no note; expected one of {', '.join(NOTE_TASKS)}")
    return tuple(_of_note(note) for note in write_notes(request, rates, errors))


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


def _heading(note: str) -> tuple[int, int]:
    start = note.find("**Physical Examination**")
    return start, start + len("**Physical Examination**")
