"""The simulator's notes with their known truth: first attempts, before any filter.

They are the notes that the write and compact stages would get from the simulator for the same prompts; no request is
sent.
"""

from collections.abc import Container, Sequence

import pandas as pd

from schemas.tables.columns import NOTE_VERSIONS, typed
from schemas.tables.records import SPANS
from tasks.llm.calls import Message
from tasks.notes.writing import conversation, note_messages, sample_index
from tasks.simulator.request import ChatRequest
from tasks.simulator.truth import Truth, compact_truth, truth

WRITER, ERRING = "vignette-writer", "vignette-writer-calibration"
"""Models of the simulator: the usual writer, and one that plants an error in most texts."""
PROVENANCE = f"{WRITER} (simulator's rules)"
STRIDE = 1_000_003
"""Between the sample indices of different rounds of notes."""


GoldNotes = dict[str, dict[int, Truth]]
"""First notes and compact versions with their truth, by version and record."""


def written(prompt: str, model: str, number: int, errors: Container[str | None] | None = None) -> tuple[Truth, ...]:
    """The notes of a reply to ``prompt``; ``number`` is the sample index. ``errors``: as in `truth`."""
    return truth(_request(note_messages(prompt), model, number), errors=errors)


def compacted(prompt: str, note: Truth, model: str, number: int) -> Truth:
    """The compact version of a note that was written for ``prompt``."""
    return compact_truth(_request(conversation(prompt, note.text), model, number), note)


def _request(messages: Sequence[Message], model: str, number: int) -> ChatRequest:
    return ChatRequest(model, tuple((message.role, message.content) for message in messages), seed=number)


def write_gold(prompts: pd.DataFrame, model: str = WRITER) -> GoldNotes:
    """The notes for ``prompts`` (PROMPTS)."""
    calls: dict[int, tuple[Truth, ...]] = {}
    notes: GoldNotes = {version: {} for version in NOTE_VERSIONS}
    for row in prompts.sort_values("record").to_dict("records"):
        record, call = int(row["record"]), int(row["call"])
        if call not in calls:
            calls[call] = written(str(row["prompt"]), model, sample_index(call))
        note = calls[call][int(row["slot"])]
        notes["normal"][record] = note
        notes["compact"][record] = compacted(str(row["single_prompt"]), note, model, sample_index(record))
    return notes


def gold_texts(notes: GoldNotes) -> dict[str, dict[int, str]]:
    """The notes' texts by version and record."""
    return {version: {record: known.text for record, known in own.items()} for version, own in notes.items()}


def gold_tables(notes: GoldNotes) -> tuple[pd.DataFrame, pd.DataFrame]:
    """NOTES and COMPACT_NOTES of first notes, without the consistency check."""
    normal, compact = (pd.DataFrame({"record": list(notes[version])}) for version in NOTE_VERSIONS)
    texts = {version: list(own.values()) for version, own in gold_texts(notes).items()}
    normal = normal.assign(attempt=0, note=texts["normal"], consistent=True, provenance=PROVENANCE)
    return normal, compact.assign(compact=texts["compact"], provenance=PROVENANCE)


def gold_spans(notes: GoldNotes) -> pd.DataFrame:
    """True spans of both versions (SPANS) with their true assertions, which are present and absent only."""
    rows = []
    for version, own in notes.items():
        for record, span in ((record, span) for record, known in own.items() for span in known.spans):
            place = {name: getattr(span, name) for name in ("symptom", "start", "end", "text", "section")}
            about = {"record": record, "version": version, "matched": "exact"}
            rows.append({**about, **place, "assertion": "present" if span.present else "absent"})
    return typed(rows, SPANS)
