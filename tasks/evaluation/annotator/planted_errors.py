"""Cases for the consistency check: notes with an error that the simulator planted, and as many without.

Notes with errors come from a writer that plants an error in most notes, the others from the ordinary writer. A loss
planted in a compact version counts only if the truth confirms it: the symptom has a span in the note and none in the
compact version.
"""

from collections import Counter
from collections.abc import Iterator

import pandas as pd

from tasks.llm.prompts import render
from tasks.simulator.request import ChatRequest
from tasks.simulator.truth import Truth, compact_truth, truth

WRITER = "vignette-writer"
CALIBRATION_WRITER = "vignette-writer-calibration"
NOTE_KINDS = (
    *("symptom_dropped", "contradicted", "descriptor_lost", "forbidden_mentioned", "forbidden_examined"),
    "extra_condition",
)
"""Errors that the check is asked for: departures from the symptoms and conditions, not from the rules of style."""
COMPACT_KINDS = ("detail_lost", "detail_changed")
_STRIDE = 1_000_003  # keeps the seeds of the rounds apart


def plant(prompts: pd.DataFrame, system: str, *, each: int, rounds: int, seed: int) -> pd.DataFrame:
    """Make cases for both checks: ``each`` notes of every kind of error, and as many notes without an error.

    ``prompts`` is the prompts table, ``system`` the writer's system message. Kinds that the prompts rarely allow
    may have fewer cases after ``rounds`` passes over the prompts. Columns of `schemas.tables.annotator.PLANTED_CASES`.
    """
    wanted = Counter(dict.fromkeys((*NOTE_KINDS, *COMPACT_KINDS), each))
    clean = {"consistency": each * len(NOTE_KINDS), "compact": each * len(COMPACT_KINDS)}
    listed = prompts.sort_values("record")[["record", "single_prompt", "instructions"]].to_dict("records")
    cases: list[dict[str, object]] = []
    for round_number in range(rounds):
        for row in listed:
            number = (seed * rounds + round_number) * _STRIDE + int(row["record"])
            for check, kind, note, compact in _written(str(row["single_prompt"]), system, number):
                left = clean if kind == "none" else wanted
                key = check if kind == "none" else kind
                if left[key] > 0:
                    left[key] -= 1
                    cases.append(_case(len(cases), check, kind, str(row["instructions"]), note, compact))
        if not any(wanted.values()) and not any(clean.values()):
            break
    frame = pd.DataFrame(cases, columns=["record", "check", "kind", "instructions", "note", "compact"])
    return frame.astype({"record": "int64", "compact": "object"})


def _case(number: int, check: str, kind: str, instructions: str, note: str, compact: str | None) -> dict[str, object]:
    return {
        "record": number,
        "check": check,
        "kind": kind,
        "instructions": instructions,
        "note": note,
        "compact": compact,
    }


def _written(prompt: str, system: str, number: int) -> Iterator[tuple[str, str, str, str | None]]:
    """Yield (check, kind, note, compact version) of both writers' notes for a prompt."""
    messages = (("system", system), ("user", prompt))
    planted = truth(ChatRequest(CALIBRATION_WRITER, messages, seed=number))[0]
    if planted.error is not None:
        yield "consistency", planted.error.kind, planted.text, None
    plain = truth(ChatRequest(WRITER, messages, seed=number))[0]
    if plain.error is not None:
        return
    yield "consistency", "none", plain.text, None
    asked = (*messages, ("assistant", plain.text), ("user", render("tasks.notes", "compact")[-1].content))
    for model in (CALIBRATION_WRITER, WRITER):
        compact = compact_truth(ChatRequest(model, asked, seed=number), plain)
        kind = _compact_kind(plain, compact)
        if kind is not None and (kind == "none") == (model == WRITER):
            yield "compact", kind, plain.text, compact.text


def _compact_kind(note: Truth, compact: Truth) -> str | None:
    """The planted error of a compact version; None where truth and plan disagree on whether a symptom was lost."""
    lost = {span.symptom for span in note.spans} - {span.symptom for span in compact.spans}
    kind = compact.error.kind if compact.error is not None else "none"
    if kind == "detail_lost":
        return kind if compact.error is not None and compact.error.item in lost else None
    return None if lost else kind
