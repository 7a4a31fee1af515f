"""Answers the writing tasks: the text alone, nothing of what is known about it."""

from tasks.simulator.request import ChatRequest
from tasks.simulator.writer.notes import write_notes
from tasks.simulator.writer.shorthand import write_compact

BETWEEN_NOTES = "\n---\n"


def write_note(request: ChatRequest) -> str:
    """The note asked for; three notes stand apart by lines of ``---``."""
    return BETWEEN_NOTES.join(note.text for note in write_notes(request))


def write_compact_version(request: ChatRequest) -> str:
    """The compact version of the note that the assistant wrote earlier in the conversation."""
    return write_compact(request).compact.text
