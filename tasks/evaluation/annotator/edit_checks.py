"""Runs the consistency check on real notes edited by script."""

from collections.abc import Sequence
from functools import partial

import pandas as pd

from tasks.domains.rules import PromptingRules
from tasks.evaluation.annotator.consistency_checks import ConsistencyCall, check_cases
from tasks.evaluation.annotator.quality import KEYWORDS
from tasks.evaluation.annotator.real_notes import RealNote
from tasks.evaluation.annotator.scripted_edits import CONDITIONS, edited_notes
from tasks.llm.calls import Ask
from tasks.llm.prompts import render


async def edit_verdicts(
    notes: Sequence[RealNote], ask: Ask, consistency_call: ConsistencyCall, *, rules: PromptingRules, seed: int
) -> pd.DataFrame:
    """Verdicts on each note, unchanged ("none") and with each kind of edit, with the columns of `PLANTED_VERDICTS`.

    ``rules`` hold the definitions and phrases of the domain's prompts.
    """
    edited = edited_notes(
        {n.record: n.text["normal"] for n in notes},
        {n.record: n.spans["normal"] for n in notes},
        partial(instructions, rules=rules),
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


def instructions(mention: list[str], avoid: list[str], conditions: list[str], *, rules: PromptingRules) -> str:
    """Information that the unchanged note agrees with, in the words of the main pipeline."""
    fields = {
        "mention": mention,
        "avoid": avoid if mention else [],
        "absent": [] if mention else list(KEYWORDS),
        "conditions": conditions,
        "forbidden_conditions": [] if mention or conditions else list(CONDITIONS),
    }
    wording = {"definitions": rules.glossary, "phrases": rules.phrases}
    return render("tasks.notes", "instructions", **fields, **wording, count=1)[-1].content
