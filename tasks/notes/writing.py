"""First notes: each prompt is sent, and its reply read and given to its record (SimSUM, Section 2.2).

A reply that is no note (a section is missing or empty) is asked for again. A reply with too few notes for the records
of its call serves the first of them, the others are asked for one by one; surplus notes are not used. At the published
limit of 1,000 tokens a reply of three notes is often cut off: the whole notes before the cut are used.
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
from tasks.notes.samples import sample_index

NO_NOTE = "the reply is not one note with a history and a physical examination"


@dataclass(frozen=True)
class Asked:
    """A record whose note is wanted by its own prompt."""

    record: int
    prompt: str
    attempt: int = 0


@dataclass
class Written:
    """What came of asking: notes by record, and the last failure of each record without one."""

    notes: dict[int, str] = field(default_factory=dict)
    failures: dict[int, tuple[str, str | None]] = field(default_factory=dict)

    def unscored(self, step: str) -> list[dict[str, str | None]]:
        """Unscored rows of the records without a note."""
        return [unscored_row(record, step, *failure) for record, failure in sorted(self.failures.items())]


async def write_first_notes(prompts: pd.DataFrame, ask: Ask, *, max_tries: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Notes of all ``prompts`` (the prompts table, whole calls): (first_notes, unscored)."""
    shared = prompts[prompts["kind"] == "unrelated"]
    dealt = await _write_shared(shared, ask)
    waiting = prompts[~prompts["record"].isin(dealt)]
    # The shared call was the first try of its records.
    first_try = {int(record): 1 for record in shared["record"]}
    asked = [Asked(int(r), p) for r, p in zip(waiting["record"], waiting["single_prompt"], strict=True)]
    written = await write_singly(asked, ask, max_tries=max_tries, first_try=first_try)
    notes = {**dealt, **written.notes}
    rows = [{"record": r, "attempt": 0, "note": notes[r], "provenance": ask.label} for r in sorted(notes)]
    return typed(rows, FIRST_NOTES), unscored_table(written.unscored("write"))


async def write_singly(
    asked: Sequence[Asked], ask: Ask, *, max_tries: int, first_try: dict[int, int] | None = None
) -> Written:
    """Ask for single notes until each is there or was tried ``max_tries`` times."""
    first_try = first_try or {}
    written, waiting = Written(), list(asked)
    for number in range(max_tries):
        answers = await ask([_call(one, number + first_try.get(one.record, 0)) for one in waiting])
        for one, answer in zip(waiting, answers, strict=True):
            note = read_note(answer.text or "") if answer.ok else None
            if note is None:
                written.failures[one.record] = _failure(answer)
            else:
                written.notes[one.record] = note
                written.failures.pop(one.record, None)
        waiting = [one for one in waiting if one.record in written.failures]
    return written


async def _write_shared(shared: pd.DataFrame, ask: Ask) -> dict[int, str]:
    """Notes of the records that share calls; a record whose call gave too few, or failed, is left out."""
    calls = [
        (call, shared[shared["call"] == call].sort_values("slot")) for call in sorted(set(shared["call"].tolist()))
    ]
    answers = await ask(
        [
            Call(f"{call}/write/shared", _messages(str(rows["prompt"].iloc[0])), sample=sample_index(call))
            for call, rows in calls
        ]
    )
    notes: dict[int, str] = {}
    for (_, rows), answer in zip(calls, answers, strict=True):
        found = read_notes(answer.text or "") if answer.ok else read_notes(answer.raw or "", cut_off=True)
        found = found[:NOTES_A_CALL]
        notes.update(zip((int(record) for record in rows["record"]), found, strict=False))
    return notes


def _call(one: Asked, number: int) -> Call:
    key = f"{one.record}/write/{one.attempt}/{number}"
    return Call(key, _messages(one.prompt), sample=sample_index(one.record, one.attempt, number))


def _messages(prompt: str) -> tuple[Message, ...]:
    return (system_message(), Message("user", prompt))


def _failure(answer: Answer) -> tuple[str, str | None]:
    return (NO_NOTE, answer.text) if answer.failure is None else (answer.failure, answer.raw)
