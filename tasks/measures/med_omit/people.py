"""Facts of sources that people found critical for a note or not; each person's list is graded for itself."""

from collections.abc import Sequence
from itertools import permutations
from typing import Any

import pandas as pd

from schemas.tables.verdicts import verdict_table
from tasks.llm.ask_all import Unscored
from tasks.llm.calls import Ask, unscored_row
from tasks.measures.declared import CLINICIAN, OfPeople
from tasks.measures.doclens import people as claims
from tasks.measures.doclens.evaluators import Question, Verdicts
from tasks.measures.measure import Metric
from tasks.measures.med_omit.cases import Case, add_differential, add_importance
from tasks.measures.med_omit.fact_score import IMPORTANCE

DIFFERENTIAL, NOTE = "differential", "note"
_CRITICAL = Metric(of="importance", words={"critical": 1.0})
_UNIT = ["document", "system", "item", "metric", "unit", "text"]


async def read(ask: Ask, reading: str, questions: Sequence[Question], _: int) -> list[Verdicts]:
    """The grade of each fact, for the differential or for a note."""
    facts = [{f"F{at}": ("", text) for at, text in enumerate(one.claims)} for one in questions]
    cases = [Case(one.key, one.premise, own) for one, own in zip(questions, facts, strict=True)]
    if reading == DIFFERENTIAL:
        cases = await add_differential(ask, cases)
    found = []
    for case in await add_importance(ask, cases, "note" if reading == NOTE else "differential"):
        units, failed = [(None, None, case.categories.get(fact)) for fact in case.facts], case.failure or {}
        found.append(Verdicts(tuple(units), failed.get("reason"), failed.get("detail")))
    return found


async def judge_lists(ask: Ask, people: pd.DataFrame, claims_a_call: int = 20) -> tuple[pd.DataFrame, Unscored]:
    """Whether each fact of one person's list is among the critical ones of another's on the same source.

    The judge only finds the fact; so the VERDICTS are the other person's, as far as the judge reads both lists right.
    """
    lists = dict(iter(people.groupby(["document", "judge"], sort=False)))
    pairs = [(one, by) for one, by in permutations(lists, 2) if one[0] == by[0]]
    critical = {name: own.loc[own["verdict"] == "critical", "text"] for name, own in lists.items()}
    questions = [
        Question(f"{'/'.join(one)}/by {by[1]}", "\n".join(critical[by]), tuple(lists[one]["text"])) for one, by in pairs
    ]
    found = await claims.read(ask, CLINICIAN, questions, claims_a_call)
    rows, unscored = list[dict[str, Any]](), list[dict[str, str | None]]()
    for (one, by), judged in zip(pairs, found, strict=True):
        if judged.failure is not None:
            unscored.append(unscored_row(one[0], f"facts wanted by {by[1]}", judged.failure, judged.raw))
        for unit, (*_, word) in zip(lists[one][_UNIT].to_dict("records"), judged.units, strict=True):
            graded = {"entailed": "critical", "not entailed": "other"}.get(word or "")
            named = {"judge": by[1], "condition": "list", "verdict": graded}
            rows.append({**unit, **named, "value": word and claims.PEOPLE.values[word]})
    return verdict_table(rows, judge=ask.label), unscored


PEOPLE = OfPeople(
    "facts",
    (DIFFERENTIAL, NOTE),
    {"fact critical for the note": (_CRITICAL, Metric(of="importance", words=dict(IMPORTANCE)))},
    read,
    values=IMPORTANCE,
    by_person=True,
    further={"another's list": judge_lists},
)
