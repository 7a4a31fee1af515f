"""Builds the prompt for the note of each visit, requests the notes, and has those rewritten that contradict the record.

A prompt has today's record, what earlier visits found, and what is decided. Symptoms are chosen as for single notes
(`tasks.notes.prompting`), except that every symptom that is present, or was present at the last visit, is mentioned:
the notes of a patient state each fact of the record (`tasks.visits.facts`).
"""

from collections.abc import Hashable, Mapping
from typing import Any

import pandas as pd

from schemas.params.history import VisitNotes
from schemas.tables.columns import typed
from schemas.tables.records import FIRST_NOTES
from schemas.tables.visits import VISIT_NOTES
from tasks.llm.calls import Ask, unscored_table
from tasks.llm.prompts import render
from tasks.network.visits import date_of
from tasks.notes.consistency import filter_notes
from tasks.notes.prompting import Choices, choose, instructions_text
from tasks.notes.writing import NoteRequest, write_singly
from tasks.visits.facts import Visits, Worder, facts_of

COLUMNS = ["record", "patient", "visit", "day", "date", "kind", "slot", "instructions", "prompt"]
"""Of the prompts: those that writing and checking notes need (`tasks.notes.consistency`), and the visit's own."""
Visit = Mapping[Hashable, Any]


def visit_prompts(visits: pd.DataFrame, worder: Worder, seed: int) -> pd.DataFrame:
    """One prompt for each row of the table of visits, with `COLUMNS`."""
    rows = []
    for _, own in visits.sort_values(["patient", "visit"]).groupby("patient", sort=True):
        history = own.to_dict("records")
        choices = [visit_choices(history[: at + 1], worder, seed) for at in range(len(history))]
        for at, visit in enumerate(history):
            rows.append(_row(history[: at + 1], choices[: at + 1], visit, worder))
    return pd.DataFrame(rows, columns=COLUMNS)


def visit_choices(history: Visits, worder: Worder, seed: int) -> Choices:
    """The choices for the last visit of ``history``; symptoms are mentioned as the module's docstring says."""
    *_, visit = history
    rules = worder.rules
    carried = {s for s in rules.symptoms if len(history) > 1 and worder.has(history[-2], s)}
    present = {s for s in rules.symptoms if worder.has(visit, s)}
    sure = {s: dict.fromkeys(rules.mention_probability[s], 1.0) for s in carried | present}
    known = rules.model_copy(update={"mention_probability": {**rules.mention_probability, **sure}})
    chosen = choose(visit, worder.network, known, seed)
    if not carried or present:
        return chosen
    avoid = tuple(symptom for symptom in chosen.avoid if symptom not in carried)
    return Choices("symptoms", tuple(sorted(carried)), avoid, chosen.conditions)


def _row(history: Visits, choices: list[Choices], visit: Visit, worder: Worder) -> dict[str, object]:
    chosen = choices[-1]
    decided = worder.words.decided(visit)
    fields = {
        "known": known_lines(history[:-1], choices, worder),
        "decided": list(decided.values()),
        "symptoms": instructions_text(visit, chosen, worder.rules, count=1),
    }
    about = {"visit": visit["visit"], "day": visit["day"], "date": _date(visit)}
    instructions = render(__package__, "visit_instructions", **fields)[-1].content
    shown = {**about, "instructions": instructions, "known": fields["known"], "decided": fields["decided"]}
    prompt = render(__package__, "visit_note", **shown, further_symptoms=not chosen.mention)[-1].content
    kind = "symptoms" if chosen.mention else "conditions"
    named = {"record": visit["record"], "patient": visit["patient"], "kind": kind, "slot": 0}
    return {**named, **about, "instructions": instructions, "prompt": prompt}


def known_lines(earlier: Visits, choices: list[Choices], worder: Worder) -> list[str]:
    """What is known before the visit of the last of ``choices``, a line each.

    At the first visit the health conditions; later the symptoms of the last visit with their onset, and all decisions.
    """
    if not earlier:
        return [f"health condition: {worder.rules.labels[name]}" for name in choices[-1].conditions]
    *_, last = earlier
    episodes = [fact for fact in facts_of(earlier, worder) if fact.kind == "episode"]
    onsets, lines = {fact.item: fact.start for fact in episodes if fact.end is None}, []
    for symptom in choices[-2].mention:
        line = f"{worder.rules.labels[symptom]}: {last[symptom]} at the visit of {_date(last)}"
        onset = onsets.get(symptom, last["day"])
        lines.append(line if onset == last["day"] else f"{line}, since {date_of(int(last['patient']), onset)}")
    for visit in earlier:
        lines += [f"{_date(visit)}: {phrase}" for phrase in worder.words.decided(visit).values()]
    return lines


def _date(visit: Visit) -> str:
    return date_of(int(visit["patient"]), int(visit["day"]))


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
