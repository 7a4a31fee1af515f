"""Known truth of a written note: the gold spans and the planted error.

Two pure functions of the request and the package version, `truth` and `compact_truth`, computed by the code that
writes the text. It is not available over HTTP; only the cases of measures call it (`tasks.judges`), never a judge.
"""

from tasks.simulator.request import ChatRequest
from tasks.simulator.writer.compact_version import source_note, write_compact
from tasks.simulator.writer.notes import GoldSpan, Truth
from tasks.simulator.writer.notes import write_notes as truth
from tasks.simulator.writer.rules import COMPACT_ERRORS, NOTE_ERRORS, ErrorRates

ERROR_KINDS = {"normal": NOTE_ERRORS, "compact": COMPACT_ERRORS}
"""Kinds of planted errors by note version."""

__all__ = ["ERROR_KINDS", "Truth", "compact_truth", "truth"]


def compact_truth(request: ChatRequest, note: Truth, rates: ErrorRates | None = None) -> Truth:
    """Return the truth of a compact version, given that of the normal note in the conversation.

    Raises ValueError if ``note`` is not the conversation's note.
    """
    if note.text != source_note(request):
        raise ValueError("the given truth belongs to another note than the conversation's")
    compact, error = write_compact(request, rates)
    heading = "**Physical Examination**"
    exam, spans = compact.locate(at := note.text.find(heading), at + len(heading)), []
    for span in note.spans:
        place = compact.locate(span.start, span.end)
        if place is not None:
            section = "physical_examination" if exam and place[0] >= exam[0] else "history"
            spans.append(GoldSpan(span.symptom, *place, compact.text[slice(*place)], section, span.present))
    return Truth(compact.text, tuple(spans), error, tuple(compact.left_out))
