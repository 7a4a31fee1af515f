"""Runs the consistency check on real notes edited by script."""

from collections.abc import Sequence

import pandas as pd

from tasks.evaluation.annotator.consistency_checks import ConsistencyCall, check_cases
from tasks.evaluation.annotator.quality import KEYWORDS
from tasks.evaluation.annotator.real_notes import RealNote
from tasks.evaluation.annotator.scripted_edits import CONDITIONS, edited_notes
from tasks.llm.calls import Ask
from tasks.llm.prompts import render


async def edit_verdicts(
    notes: Sequence[RealNote], ask: Ask, consistency_call: ConsistencyCall, *, seed: int
) -> pd.DataFrame:
    """Verdicts on each note, unchanged ("none") and with each kind of edit, with the columns of `PLANTED_VERDICTS`."""
    edited = edited_notes(
        {n.record: n.text["normal"] for n in notes},
        {n.record: n.spans["normal"] for n in notes},
        instructions,
        seed=seed,
    )
    cases = pd.DataFrame(
        {
            "record": range(len(edited)),
            "check": "consistency",
            "kind": ["none" if one.kind == "unchanged" else one.kind for one in edited],
            "instructions": [one.instructions for one in edited],
            "note": [one.note for one in edited],
            "compact": None,
        }
    )
    verdicts, _ = await check_cases(cases, ask, consistency_call)
    return verdicts.assign(check="scripted edits")


def instructions(mention: list[str], avoid: list[str], conditions: list[str]) -> str:
    """A writing prompt that the unchanged note meets."""
    if mention:
        return render("tasks.notes", "note", mention=mention, avoid=avoid, conditions=conditions)[-1].content
    if conditions:
        filled = render("tasks.notes", "note_conditions", absent=list(KEYWORDS), conditions=conditions)
        return filled[-1].content
    filled = render(
        "tasks.notes", "note_unrelated", absent=list(KEYWORDS), forbidden_conditions=list(CONDITIONS), count=1
    )
    return filled[-1].content
