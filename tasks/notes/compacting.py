"""Compact versions of notes, requested in the conversation that wrote the note (SimSUM, Section 2.2).

The conversation is rebuilt from the record's single-note prompt and its note. For notes written three to a call, this
leaves out the other patients' notes.
"""

import pandas as pd

from schemas.tables.columns import typed
from schemas.tables.notes import COMPACT_NOTES
from tasks.llm.calls import Ask, Call, Message
from tasks.llm.prompts import render
from tasks.llm.reply_length import tokens_needed
from tasks.llm.unscored import unscored_row, unscored_table
from tasks.notes.prompting import system_message
from tasks.notes.replies import read_note
from tasks.notes.writing import sample_index

NO_SECTIONS = "the reply is not a note with both sections"


async def compact_notes(
    prompts: pd.DataFrame, notes: pd.DataFrame, ask: Ask, *, max_tries: int
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Request compact versions: (COMPACT_NOTES, UNSCORED).

    A reply without both sections is requested again, up to ``max_tries`` times in all.
    """
    asked = dict(zip(prompts["record"].tolist(), prompts["single_prompt"], strict=True))
    ordered = notes.sort_values("record")
    waiting = list(zip(ordered["record"].tolist(), ordered["attempt"].tolist(), ordered["note"], strict=True))
    compact: dict[int, str] = {}
    failures: dict[int, tuple[str, str | None]] = {}
    for number in range(max_tries):
        calls = [_call(asked[r], note, r, attempt, number) for r, attempt, note in waiting]
        for (record, _, _), answer in zip(waiting, await ask(calls), strict=True):
            found = read_note(answer.text or "") if answer.ok else None
            if found is not None:
                compact[record] = found
            else:
                failures[record] = (answer.failure or NO_SECTIONS, answer.raw if answer.failure else answer.text)
        waiting = [(record, attempt, note) for record, attempt, note in waiting if record not in compact]
    rows = [{"record": r, "compact": compact[r], "provenance": ask.label} for r in sorted(compact)]
    return typed(rows, COMPACT_NOTES), unscored_table(unscored_row(r, "compact", *failures[r]) for r, _, _ in waiting)


def _call(prompt: str, note: str, record: int, attempt: int, number: int) -> Call:
    key, sample = f"{record}/compact/{number}", sample_index(record, attempt, number)
    return Call(key, conversation(prompt, note), sample=sample, least_tokens=tokens_needed(note, times=1.5))


def conversation(prompt: str, note: str) -> tuple[Message, ...]:
    """System message, request, note, and the request for a compact version."""
    return (system_message(), Message("user", prompt), Message("assistant", note), *render("tasks.notes", "compact"))
