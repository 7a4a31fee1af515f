"""Requests first notes and reads them from the replies (SimSUM, Section 2.2).

A reply without a note (a section is missing or empty) is requested again. If a reply for three records has too few
notes, its notes go to the first records and the others are requested one by one; surplus notes are not used. With the
published limit of 1,000 tokens, replies of three notes are often cut off; the complete notes before the cut are used.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import pandas as pd

from schemas.tables.columns import typed
from schemas.tables.notes import FIRST_NOTES
from tasks.llm.calls import Answer, Ask, Call, Message
from tasks.llm.unscored import unscored_row, unscored_table
from tasks.notes.prompting import NOTES_A_CALL, system_message
from tasks.notes.replies import read_note, read_notes

MAX_ATTEMPTS = 8
MAX_TRIES = 8
NOTE_TOKENS = 1000
"""Tokens to allow for one note (SimSUM, Section 2.2, which allows as many for three)."""
NO_NOTE = "the reply is not one note with a history and a physical examination"


@dataclass(frozen=True)
class NoteRequest:
    """A request for a note of a record. ``slot``: its place, if the prompt asks for several notes."""

    record: int
    prompt: str
    attempt: int = 0
    tries_used: int = 0
    slot: int | None = None


@dataclass
class Written:
    """Notes by record, and (reason, raw reply) of the last failure of each record without a note."""

    notes: dict[int, str] = field(default_factory=dict)
    failures: dict[int, tuple[str, str | None]] = field(default_factory=dict)

    def unscored(self, step: str) -> list[dict[str, str | None]]:
        """Unscored rows of the records without a note."""
        return [unscored_row(record, step, *failure) for record, failure in sorted(self.failures.items())]


async def write_first_notes(prompts: pd.DataFrame, ask: Ask, *, max_tries: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Request notes for ``prompts`` (PROMPTS, complete calls): (FIRST_NOTES, UNSCORED)."""
    shared = prompts[prompts["kind"] == "unrelated"]
    from_shared = await _write_shared(shared, ask)
    waiting = prompts[~prompts["record"].isin(from_shared)]
    requests = [
        NoteRequest(int(record), prompt, tries_used=int(kind == "unrelated"))  # the shared call was the first try
        for record, prompt, kind in zip(waiting["record"], waiting["single_prompt"], waiting["kind"], strict=True)
    ]
    written = await write_singly(requests, ask, max_tries=max_tries)
    notes = {**from_shared, **written.notes}
    rows = [{"record": r, "attempt": 0, "note": notes[r], "provenance": ask.label} for r in sorted(notes)]
    return typed(rows, FIRST_NOTES), unscored_table(written.unscored("write"))


async def write_singly(requests: Sequence[NoteRequest], ask: Ask, *, max_tries: int) -> Written:
    """Request one note for each record, each up to ``max_tries`` times and as long as tries have a sample index."""
    written, waiting = Written(), list(requests)
    for number in range(max_tries):
        waiting = [one for one in waiting if one.tries_used + number < MAX_TRIES]
        answers = await ask([_call(one, one.tries_used + number) for one in waiting])
        for one, answer in zip(waiting, answers, strict=True):
            note = _read(one, answer)
            if note is None:
                written.failures[one.record] = _failure(answer)
            else:
                written.notes[one.record] = note
                written.failures.pop(one.record, None)
        waiting = [one for one in waiting if one.record in written.failures]
    return written


async def _write_shared(shared: pd.DataFrame, ask: Ask) -> dict[int, str]:
    """Notes of records with shared calls; records whose call failed or had too few notes are left out."""
    groups = [(int(call), rows.sort_values("slot")) for call, rows in shared.groupby("call", sort=True)]
    calls = []
    for call, rows in groups:
        messages = _messages(str(rows["prompt"].iloc[0]))
        key = f"{call}/write/shared"
        calls.append(Call(key, messages, sample=sample_index(call), least_tokens=NOTES_A_CALL * NOTE_TOKENS))
    notes: dict[int, str] = {}
    for (_, rows), answer in zip(groups, await ask(calls), strict=True):
        found = read_notes(answer.text or "") if answer.ok else read_notes(answer.raw or "", cut_off=True)
        found = found[:NOTES_A_CALL]
        notes.update(zip((int(record) for record in rows["record"]), found, strict=False))
    return notes


def _read(request: NoteRequest, answer: Answer) -> str | None:
    if request.slot is None:
        return read_note(answer.text or "") if answer.ok else None
    found = read_notes(answer.text or "") if answer.ok else read_notes(answer.raw or "", cut_off=True)
    return found[request.slot] if len(found) > request.slot else None


def _call(request: NoteRequest, number: int) -> Call:
    key = f"{request.record}/write/{request.attempt}/{number}"
    sample, notes = sample_index(request.record, request.attempt, number), 1 if request.slot is None else NOTES_A_CALL
    return Call(key, _messages(request.prompt), sample=sample, least_tokens=notes * NOTE_TOKENS)


def _messages(prompt: str) -> tuple[Message, ...]:
    return (system_message(), Message("user", prompt))


def _failure(answer: Answer) -> tuple[str, str | None]:
    return (NO_NOTE, answer.text) if answer.failure is None else (answer.failure, answer.raw)


def sample_index(record: int, attempt: int = 0, attempt_try: int = 0) -> int:
    """A unique sample index for a record, attempt and try.

    The index is part of a request, so that records with the same prompt get different notes. Raises ValueError for an
    attempt or try out of range.
    """
    if not (0 <= attempt < MAX_ATTEMPTS and 0 <= attempt_try < MAX_TRIES):
        raise ValueError(f"attempt {attempt}, try {attempt_try}: must be below {MAX_ATTEMPTS} and {MAX_TRIES}")
    return (record * MAX_ATTEMPTS + attempt) * MAX_TRIES + attempt_try
