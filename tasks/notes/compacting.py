"""The compact version of a note, asked for in the conversation that wrote it (SimSUM, Section 2.2).

The conversation is rebuilt from the record's own prompt and its note. For a note that was written together with two
others, that is the prompt for this one note: the other patients' notes stay out of it.
"""

import pandas as pd

from schemas.tables.columns import typed
from schemas.tables.notes import COMPACT_NOTES
from tasks.llm.calls import Ask, Call, Message
from tasks.llm.prompts import render
from tasks.llm.unscored import unscored_row, unscored_table
from tasks.notes.prompting import system_message
from tasks.notes.replies import read_note
from tasks.notes.samples import sample_index

NO_SECTIONS = "the reply is not a note with both sections"


async def compact_notes(
    prompts: pd.DataFrame, notes: pd.DataFrame, ask: Ask, *, max_tries: int
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Compact versions of ``notes``: (compact_notes, unscored). A reply without both sections is asked for again."""
    asked = dict(zip(prompts["record"].tolist(), prompts["single_prompt"], strict=True))
    ordered = notes.sort_values("record")
    waiting = list(zip(ordered["record"].tolist(), ordered["attempt"].tolist(), ordered["note"], strict=True))
    compact: dict[int, str] = {}
    failures: dict[int, tuple[str, str | None]] = {}
    for number in range(max_tries):
        calls = [
            Call(f"{r}/compact/{number}", conversation(asked[r], note), sample=sample_index(r, attempt, number))
            for r, attempt, note in waiting
        ]
        for (record, _, _), answer in zip(waiting, await ask(calls), strict=True):
            found = read_note(answer.text or "") if answer.ok else None
            if found is not None:
                compact[record] = found
            else:
                failures[record] = (answer.failure or NO_SECTIONS, answer.raw if answer.failure else answer.text)
        waiting = [one for one in waiting if one[0] not in compact]
    rows = [{"record": r, "compact": compact[r], "provenance": ask.label} for r in sorted(compact)]
    return typed(rows, COMPACT_NOTES), unscored_table(unscored_row(r, "compact", *failures[r]) for r, _, _ in waiting)


def conversation(prompt: str, note: str) -> tuple[Message, ...]:
    """System message, request, note, and the request for a compact version."""
    return (system_message(), Message("user", prompt), Message("assistant", note), *render("tasks.notes", "compact"))
