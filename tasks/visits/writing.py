"""Requests the notes of visits, and has those rewritten that contradict their record or an earlier visit."""

import pandas as pd

from schemas.params.history import VisitNotes
from schemas.tables.columns import typed
from schemas.tables.records import FIRST_NOTES
from schemas.tables.visits import VISIT_NOTES
from tasks.llm.calls import Ask, unscored_table
from tasks.notes.consistency import filter_notes
from tasks.notes.writing import NoteRequest, write_singly

CHECK = ("tasks.visits", "visit_consistency")
Made = tuple[pd.DataFrame, pd.DataFrame]


async def write_visit_notes(prompts: pd.DataFrame, writer: Ask, annotator: Ask, params: VisitNotes) -> Made:
    """Notes of the visits of ``prompts`` (`tasks.visits.prompting.COLUMNS`): (VISIT_NOTES, UNSCORED).

    A note is requested ``params.max_tries`` times until the reply is one, and written anew while the check flags it, up
    to ``params.max_attempts`` notes.
    """
    requests = [NoteRequest(int(row["record"]), str(row["prompt"])) for row in prompts.to_dict("records")]
    written = await write_singly(requests, writer, max_tries=params.max_tries)
    first = [{"record": r, "attempt": 0, "note": n, "provenance": writer.label} for r, n in written.notes.items()]
    _, notes, unscored = await filter_notes(
        prompts,
        typed(first, FIRST_NOTES),
        annotator,
        writer,
        max_attempts=params.max_attempts,
        max_tries=params.max_tries,
        check=CHECK,
    )
    merged = prompts[["record", "patient", "visit", "day", "date"]].merge(notes, on="record")
    merged["text"] = [heading(row.visit, row.date, row.day) + row.note for row in merged.itertuples()]
    failed = unscored_table(written.unscored("visit_note"))
    return typed(merged, VISIT_NOTES), pd.concat([failed, unscored], ignore_index=True)


def heading(visit: int, date: str, day: int) -> str:
    """The first line of a note, which dates it."""
    return f"Visit {visit}, {date} (day {day})\n\n"
