"""Cases with a known error for the consistency check, and its verdicts on them.

Notes with an error come from a writer that plants one in most texts, as many without from the usual writer.
"""

from collections.abc import Iterator, Mapping

import pandas as pd

from schemas.params import Params
from schemas.tables.columns import typed
from schemas.tables.evaluation import PLANTED_CASES
from tasks.judges.cases import Asked, Cases, Given, Row, case_row, case_verdict, planted_table
from tasks.judges.simulated_notes import ERRING, STRIDE, WRITER, compacted, written
from tasks.llm.ask_all import Unscored, ask_all
from tasks.llm.calls import Ask, Call, Reply
from tasks.llm.prompts import render
from tasks.notes.consistency import ConsistencyReply, consistency_call
from tasks.simulator.truth import Truth

NOTE_KINDS = (
    *("symptom_dropped", "contradicted", "descriptor_lost", "forbidden_mentioned", "forbidden_examined"),
    "extra_condition",
)
"""Errors that the check is asked for: departures from the symptoms and conditions, not from the rules of style."""
COMPACT_KINDS = ("detail_lost", "detail_changed")


def plant_inconsistent(prompts: pd.DataFrame, *, each: int, rounds: int, seed: int) -> pd.DataFrame:
    """Cases for the consistency check (PLANTED_CASES): ``each`` of every kind of error, and as many without an error.

    ``prompts`` is the prompts table. Kinds that the prompts rarely allow may have fewer cases after ``rounds`` passes
    over the prompts.
    """
    wanted = dict.fromkeys((*NOTE_KINDS, *COMPACT_KINDS), each)
    wanted |= {"none, consistency": each * len(NOTE_KINDS), "none, compact": each * len(COMPACT_KINDS)}
    cases: list[dict[str, object]] = []
    listed = prompts.sort_values("record")[["record", "single_prompt", "instructions"]].to_dict("records")
    for round_number in range(rounds):
        for row in listed:
            number = (seed * rounds + round_number) * STRIDE + int(row["record"])
            for check, kind, note, compact in _erring_and_usual(str(row["single_prompt"]), number, wanted):
                key = f"none, {check}" if kind == "none" else kind
                if wanted.get(key, 0) > 0:
                    wanted[key] -= 1
                    case = {"record": len(cases), "check": check, "kind": kind, "note": note, "compact": compact}
                    cases.append({**case, "instructions": row["instructions"]})
        if not any(wanted.values()):
            break
    return typed(cases, PLANTED_CASES)


def _erring_and_usual(
    prompt: str, number: int, wanted: Mapping[str, int]
) -> Iterator[tuple[str, str, str, str | None]]:
    """Yield (check, kind, note, compact version) of both writers' notes for a prompt; nothing unwanted is written."""

    def want(*keys: str) -> bool:
        return any(wanted[key] for key in keys)

    if want(*NOTE_KINDS):
        for erring in written(prompt, ERRING, number, {kind for kind, left in wanted.items() if left})[:1]:
            if erring.error is not None:
                yield "consistency", erring.error.kind, erring.text, None
    if not want("none, consistency", "none, compact", *COMPACT_KINDS):
        return
    if not (faultless := written(prompt, WRITER, number, {None})):
        return
    usual = faultless[0]
    yield "consistency", "none", usual.text, None
    for model, keys in ((ERRING, COMPACT_KINDS), (WRITER, ("none, compact",))):
        if want(*keys):
            compact = compacted(prompt, usual, model, number)
            kind = _compact_kind(usual, compact)
            if kind is not None and (kind == "none") == (model == WRITER):
                yield "compact", kind, usual.text, compact.text


def _compact_kind(note: Truth, compact: Truth) -> str | None:
    """The planted error of a compact version; None where truth and plan disagree on whether a symptom was lost.

    A loss counts only if the symptom has a span in the note and none in the compact version.
    """
    lost = {span.symptom for span in note.spans} - {span.symptom for span in compact.spans}
    kind = compact.error.kind if compact.error is not None else "none"
    if kind == "detail_lost":
        return kind if compact.error is not None and compact.error.item in lost else None
    return None if lost else kind


class Difference(Reply):
    """A detail that a compact note lost or changed."""

    kind: str
    detail: str


class CompactVerdict(Reply):
    """Whether a compact note says the same as its note, and each detail that is lost or changed."""

    differences: list[Difference]
    same: bool


async def check_cases(cases: pd.DataFrame, ask: Ask) -> tuple[pd.DataFrame, Unscored]:
    """VERDICTS of the main pipeline's check and of the comparison with the compact version, and UNSCORED rows.

    The answer to a case with an error is yes.
    """
    rows = {int(row["record"]): row for row in cases.sort_values("record").to_dict("records")}
    calls = {record: _call(row) for record, row in rows.items()}
    replies, unscored = await ask_all(ask, calls, Reply, lambda record: str(rows[record]["check"]))
    verdicts = []
    for record, row in rows.items():
        flagged, reason = _flagged(replies.get(record))
        text = row["compact" if row["check"] == "compact" else "note"]
        case = case_verdict(str(record), row["check"], row["kind"], text, row["kind"] != "none", flagged)
        verdicts.append({**case, "reason": reason})
    return planted_table(verdicts, ask.label), unscored


def _flagged(reply: Reply | None) -> tuple[bool | None, str | None]:
    """Whether an error was found, and the explanation."""
    if isinstance(reply, CompactVerdict):
        return not reply.same, "; ".join(f"{one.kind}: {one.detail}" for one in reply.differences)
    return (not reply.consistent, reply.explanation) if isinstance(reply, ConsistencyReply) else (None, None)


def _call(row: dict) -> Call:
    key = f"{row['record']}/planted/{row['check']}"
    if row["check"] == "compact":
        prompt = render("tasks.notes", "compare_compact", note=row["note"], compact=row["compact"])
        return Call(key, prompt, reply=CompactVerdict)
    return consistency_call(key, str(row["instructions"]), str(row["note"]))


EACH = 30
"""Notes with each kind of error on a card by default."""


def _made(given: Given) -> pd.DataFrame | None:
    if given.prompts is None:
        return None
    planted = plant_inconsistent(given.prompts, each=given.scaled(EACH), rounds=2, seed=given.params.seed)
    return planted[planted["check"] == "consistency"]


async def _judged(ask: Ask, planted: pd.DataFrame, _: Params) -> tuple[list[Row], Unscored]:
    """Verdicts on whether notes contradict the records that they were written for; the domain must be in use."""
    judged, unscored = await check_cases(planted, ask)
    about, rows = planted.set_index("record"), list[Row]()
    for row in judged.to_dict("records"):
        number = int(row["document"])
        name, note = f"k{number:04d}", about.loc[number]
        said, shown = None if pd.isna(row["value"]) else bool(row["value"]), (note["instructions"], note["note"])
        rows.append(case_row(name, "consistency", row["kind"], name, *shown, bool(row["truth"]), said))
    return rows, unscored


CONSISTENCY = Cases(
    "consistency",
    _made,
    _judged,
    {
        "consistency": Asked(
            "Does the note depart from what its record asks for: a symptom that it must mention left out or changed, "
            "one that it must not mention, or another health condition?",
            "notes with a departure",
            "notes without one",
        )
    },
    place=6,
    of_records=True,
    checks=True,
)
"""The check as a task of a card."""
