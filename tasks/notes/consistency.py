"""The consistency filter (SimSUM, Section 2.2): notes are checked against their prompts, flagged ones rewritten.

The check sees the part of the prompt on symptoms and health conditions, not the rules of style. A flagged note is
rewritten from the prompt that it came from: of a reply with several notes, the one in the record's place is used. All
attempts are kept. A note whose check could not be scored has no verdict and is not rewritten.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import pandas as pd
from pydantic import Field

from schemas.tables.columns import typed
from schemas.tables.notes import ATTEMPTS, NOTES
from tasks.domains.rules import load_rules
from tasks.llm.calls import Ask, Call, Reply
from tasks.llm.prompts import render
from tasks.llm.unscored import unscored_row, unscored_table
from tasks.notes.writing import NoteRequest, sample_index, write_singly


class ConsistencyReply(Reply):
    """Whether a note agrees with the information that it was written from, and where it does not."""

    explanation: str = Field(default="", description="where the note disagrees; empty if it agrees")
    consistent: bool


@dataclass(frozen=True)
class Attempt:
    """One note of a record with its verdict; ``consistent`` is None if the check could not be scored."""

    record: int
    attempt: int
    note: str
    provenance: str
    consistent: bool | None = None
    explanation: str | None = None


async def filter_notes(
    prompts: pd.DataFrame, first_notes: pd.DataFrame, annotator: Ask, writer: Ask, *, max_attempts: int, max_tries: int
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Check first notes and rewrite flagged ones, up to ``max_attempts`` in all: (ATTEMPTS, NOTES, UNSCORED).

    The last attempt is kept. ``consistent`` in NOTES is true only if the check said so.
    """
    instructions = dict(zip(prompts["record"].tolist(), prompts["instructions"], strict=True))
    rewriting = {int(row["record"]): row for row in prompts[["record", "kind", "prompt", "slot"]].to_dict("records")}
    current = [
        Attempt(int(row["record"]), int(row["attempt"]), row["note"], row["provenance"])
        for row in first_notes.sort_values("record").to_dict("records")
    ]
    attempts: list[Attempt] = []
    unscored: list[dict[str, str | None]] = []
    for number in range(max_attempts):
        checked = await _check(current, instructions, annotator, unscored)
        attempts += checked
        flagged = [attempt for attempt in checked if attempt.consistent is False]
        if number + 1 == max_attempts or not flagged:
            break
        current = await _regenerate(flagged, rewriting, writer, max_tries, unscored)
    return _attempts_table(attempts), _notes_table(attempts), unscored_table(unscored)


def pass_through(first_notes: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Keep first notes unchecked: (ATTEMPTS, NOTES, UNSCORED). For published notes, which were filtered before.

    NOTES marks them as consistent, because later stages leave out notes that are not. ATTEMPTS has no verdicts.
    """
    attempts = [
        Attempt(int(row["record"]), int(row["attempt"]), row["note"], row["provenance"])
        for row in first_notes.sort_values("record").to_dict("records")
    ]
    return _attempts_table(attempts), _notes_table(attempts).assign(consistent=True), unscored_table([])


def consistency_call(key: str, instructions: str, note: str, *, sample: int = 0) -> Call:
    """The request that checks ``note`` against ``instructions``; its reply is a `ConsistencyReply`."""
    messages = render("tasks.notes", "consistency", instructions=instructions, note=note, phrases=load_rules().phrases)
    return Call(key, messages, reply=ConsistencyReply, sample=sample)


async def _check(
    attempts: Sequence[Attempt], instructions: dict[int, str], ask: Ask, unscored: list[dict[str, str | None]]
) -> list[Attempt]:
    calls = [
        consistency_call(
            f"{a.record}/consistency/{a.attempt}",
            instructions[a.record],
            a.note,
            sample=sample_index(a.record, a.attempt),
        )
        for a in attempts
    ]
    checked = []
    for attempt, answer in zip(attempts, await ask(calls), strict=True):
        verdict, explanation = None, None
        if isinstance(answer.value, ConsistencyReply):
            verdict, explanation = answer.value.consistent, answer.value.explanation
        else:
            reason = answer.failure or "no verdict"
            unscored.append(unscored_row(attempt.record, f"consistency/{attempt.attempt}", reason, answer.raw))
        checked.append(Attempt(attempt.record, attempt.attempt, attempt.note, attempt.provenance, verdict, explanation))
    return checked


async def _regenerate(
    flagged: Sequence[Attempt],
    prompts: Mapping[int, Mapping[Hashable, Any]],
    ask: Ask,
    max_tries: int,
    unscored: list[dict[str, str | None]],
) -> list[Attempt]:
    """Request the next attempt of each flagged note with the same prompt. If that fails, the last attempt is kept."""
    requests = []
    for one in flagged:
        row = prompts[one.record]
        slot = int(row["slot"]) if row["kind"] == "unrelated" else None
        requests.append(NoteRequest(one.record, str(row["prompt"]), one.attempt + 1, slot=slot))
    written = await write_singly(requests, ask, max_tries=max_tries)
    unscored += written.unscored("regenerate")
    done = [request for request in requests if request.record in written.notes]
    return [Attempt(one.record, one.attempt, written.notes[one.record], ask.label) for one in done]


def _attempts_table(attempts: Sequence[Attempt]) -> pd.DataFrame:
    return typed([asdict(attempt) for attempt in attempts], ATTEMPTS).sort_values(
        ["record", "attempt"], ignore_index=True
    )


def _notes_table(attempts: Sequence[Attempt]) -> pd.DataFrame:
    last = {a.record: a for a in sorted(attempts, key=lambda a: (a.record, a.attempt))}
    return typed([asdict(a) | {"consistent": a.consistent is True} for a in last.values()], NOTES)
