"""The cases of all measures, found by their folders, and a judge's answers to them."""

from collections.abc import Collection, Mapping
from importlib import import_module
from pathlib import Path

import pandas as pd

from tasks.judges.cases import Cases, Given, Judged, Row, judge_made, planted_table
from tasks.llm.ask_all import Unscored
from tasks.llm.calls import Ask

_PLANTED = "tasks.measures.*.planted"
"""The modules with cases of a measure, each its ``CASES``."""
CASES_OF: Mapping[str, tuple[Cases, ...]] = {
    file.parent.name: import_module(_PLANTED.replace("*", file.parent.name)).CASES
    for file in sorted(Path(__file__).parent.glob("*/planted.py"))
}
"""By the folder of the measure."""


async def judge_planted(
    ask: Ask, given: Given, known: Mapping[str, Judged] | None = None, measures: Collection[str] = tuple(CASES_OF)
) -> tuple[pd.DataFrame, Unscored]:
    """The judge's VERDICTS on the cases of measures, by default of all, and what could not be judged.

    ``known``: what it said of the cases of a task already, by name.
    """
    rows: list[Row] = []
    unscored: Unscored = []
    for cases in (one for name, own in CASES_OF.items() if name in measures for one in own):
        judged, failed = (known or {}).get(cases.name) or await judge_made(ask, cases, given)
        rows, unscored = rows + judged, unscored + failed
    return planted_table(rows, ask.label), unscored
