"""Requests notes and their compact versions, and reads them from the replies (SimSUM, Section 2.2).

A reply without a note (a section is missing or empty) is requested again. If a reply for three records has too few
notes, its notes go to the first records and the others are requested one by one; surplus notes are not used. With the
published limit of 1,000 tokens, replies of three notes are often cut off; the complete notes before the cut are used.

A compact version is requested in the conversation that wrote the note, rebuilt from the record's single-note prompt and
its note. For notes written three to a call, this leaves out the other patients' notes.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import pandas as pd

from schemas.tables.columns import typed
from schemas.tables.records import COMPACT_NOTES, FIRST_NOTES
from tasks.llm.calls import Answer, Ask, Call, Message, unscored_row, unscored_table
from tasks.llm.prompts import render
from tasks.llm.requests import tokens_needed
from tasks.notes.prompting import NOTES_A_CALL
from tasks.progress import number_of
from tasks.text.sections import has_both_sections, split_sections

_SEPARATOR = re.compile(r"^[ \t]*(?:-{3,}|\*{3,}|_{3,}|={3,})[ \t]*$", re.MULTILINE)
_FENCE = re.compile(r"^[ \t]*```\w*[ \t]*$\n?", re.MULTILINE)  # no note has one
_UNDERLINED = re.compile(r"^(?P<line>[^\S\n]*+\S.*)\n[ \t]*(?:-{3,}|={3,})[ \t]*$", re.MULTILINE)
_TITLE_LINE = (
    r"[ \t]*+(?:#{1,6}[ \t]*+)?(?:\*{1,2})?[ \t]*+(?:clinical[ \t]++|consultation[ \t]++)?"
    r"(?:note|patient|case|consultation)[ \t]*+(?:#?\d+)?[ \t]*+[:.]?[ \t]*+(?:\*{1,2})?[ \t]*+:?[ \t]*+"
)
_TITLE = re.compile(rf"\A(?:{_TITLE_LINE}\n+)+", re.IGNORECASE)
_NEXT_TITLE = re.compile(_TITLE_LINE, re.IGNORECASE)


def read_note(reply: str) -> str | None:
    """The note in a reply, without code fences, title and separators; None if a section is missing or empty.

    A reply with two histories has two notes; as either may be meant, the result is None. Consecutive headings of a
    history count once.
    """
    text = _SEPARATOR.sub("", _FENCE.sub("", reply)).strip()
    lines = _TITLE.sub("", text).split("\n")
    while len(lines) > 1 and _NEXT_TITLE.fullmatch(lines[-1]):
        lines.pop()
    note = "\n".join(lines).strip()
    names = [section.name for section in split_sections(note)]
    histories = sum(one == "history" and before != one for before, one in pairwise([None, *names]))
    return note if has_both_sections(note) and histories == 1 else None


def read_notes(reply: str, *, cut_off: bool = False) -> list[str]:
    """The complete notes in a reply to a request for several, in order; parts without both sections are left out.

    Notes are separated by lines of dashes or, without these, by the heading of each history. The last note of a
    ``cut_off`` reply is always left out.
    """
    text = _UNDERLINED.sub(_without_underline, _FENCE.sub("", reply))
    parts = [part for part in _SEPARATOR.split(text) if part.strip()]
    pieces = [piece for part in parts for piece in _split_at_histories(part)]
    whole = pieces[:-1] if cut_off else pieces
    return [note for piece in whole if (note := read_note(piece)) is not None]


def _without_underline(found: re.Match[str]) -> str:
    """Remove a line of dashes that underlines a heading, since it does not separate notes."""
    heads = split_sections(found["line"])[0].name != "other"
    return found["line"] if heads else found.group()


def _split_at_histories(part: str) -> list[str]:
    """Split before each history that follows a physical examination."""
    sections = split_sections(part)
    cuts = [0]
    for before, section in pairwise(sections):
        if before.name == "physical_examination" and section.name == "history":
            cuts.append(part.rindex("\n", 0, section.start - 1) + 1 if "\n" in part[: section.start - 1] else 0)
    return [part[start:end] for start, end in zip(cuts, [*cuts[1:], len(part)], strict=True)]


MAX_ATTEMPTS = 8
MAX_TRIES = 8
NOTE_TOKENS = 1000
"""Tokens to allow for one note (SimSUM, Section 2.2, which allows as many for three)."""
NO_NOTE = "the reply is not one note with a history and a physical examination"


@dataclass(frozen=True)
class NoteRequest:
    """A request for a note of a record, or for the compact version of ``note``.

    ``slot``: the note's place, if the prompt asks for several notes.
    """

    record: int
    prompt: str
    attempt: int = 0
    tries_used: int = 0
    slot: int | None = None
    note: str | None = None


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
    """Request a note or compact version of each record, up to ``max_tries`` times as far as the sample index allows."""
    written, waiting = Written(), list(requests)
    for number in range(max_tries):
        waiting = [one for one in waiting if one.tries_used + number < MAX_TRIES]
        answers = await ask([_call(one, one.tries_used + number) for one in waiting])
        for one, answer in zip(waiting, answers, strict=True):
            note = _read(one, answer)
            if note is None:
                failure = (_no_note(one, answer), answer.text) if answer.ok else (str(answer.failure), answer.raw)
                written.failures[one.record] = failure
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
        messages, least = note_messages(str(rows["prompt"].iloc[0])), NOTES_A_CALL * NOTE_TOKENS
        calls.append(Call(f"{call}/write/shared", messages, sample=sample_index(call), least_tokens=least))
    notes: dict[int, str] = {}
    for (_, rows), answer in zip(groups, await ask(calls), strict=True):
        notes.update(zip(map(int, rows["record"]), _several(answer)[:NOTES_A_CALL], strict=False))
    return notes


def _read(request: NoteRequest, answer: Answer) -> str | None:
    if request.slot is None:
        return read_note(answer.text or "") if answer.ok else None
    found = _several(answer)
    return found[request.slot] if len(found) > request.slot else None


def _no_note(request: NoteRequest, answer: Answer) -> str:
    """Why a reply has no note for a request."""
    if request.slot is None:
        return NO_NOTE
    found = f"the reply has {number_of(len(_several(answer)), 'note')} with a history and a physical examination"
    return f"{found}; expected {NOTES_A_CALL}, of which number {request.slot + 1} is wanted"


def _several(answer: Answer) -> list[str]:
    return read_notes(answer.text or "") if answer.ok else read_notes(answer.raw or "", cut_off=True)


def _call(request: NoteRequest, number: int) -> Call:
    sample = sample_index(request.record, request.attempt, number)
    if request.note is not None:
        messages, least = conversation(request.prompt, request.note), tokens_needed(request.note, times=1.5)
        return Call(f"{request.record}/compact/{number}", messages, sample=sample, least_tokens=least)
    least = NOTE_TOKENS * (1 if request.slot is None else NOTES_A_CALL)
    key = f"{request.record}/write/{request.attempt}/{number}"
    return Call(key, note_messages(request.prompt), sample=sample, least_tokens=least)


def note_messages(prompt: str) -> tuple[Message, ...]:
    """System message and the request for a note."""
    return (*render("tasks.notes", "system"), Message("user", prompt))


def conversation(prompt: str, note: str) -> tuple[Message, ...]:
    """System message, request, note, and the request for a compact version."""
    return (*note_messages(prompt), Message("assistant", note), *render("tasks.notes", "compact"))


def sample_index(record: int, attempt: int = 0, attempt_try: int = 0) -> int:
    """A unique sample index for a record, attempt and try.

    The index is part of a request, so that records with the same prompt get different notes. Raises ValueError for an
    attempt or try out of range.
    """
    if not (0 <= attempt < MAX_ATTEMPTS and 0 <= attempt_try < MAX_TRIES):
        raise ValueError(f"attempt {attempt}, try {attempt_try}: must be below {MAX_ATTEMPTS} and {MAX_TRIES}")
    return (record * MAX_ATTEMPTS + attempt) * MAX_TRIES + attempt_try


async def compact_notes(
    prompts: pd.DataFrame, notes: pd.DataFrame, ask: Ask, *, max_tries: int
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Request compact versions, each up to ``max_tries`` times: (COMPACT_NOTES, UNSCORED)."""
    asked = dict(zip(prompts["record"].tolist(), prompts["single_prompt"], strict=True))
    ordered = notes.sort_values("record")
    rows = zip(ordered["record"].tolist(), ordered["attempt"].tolist(), ordered["note"], strict=True)
    requests = [NoteRequest(record, asked[record], attempt, note=note) for record, attempt, note in rows]
    written = await write_singly(requests, ask, max_tries=max_tries)
    made = [{"record": r, "compact": written.notes[r], "provenance": ask.label} for r in sorted(written.notes)]
    return typed(made, COMPACT_NOTES), unscored_table(written.unscored("compact"))
