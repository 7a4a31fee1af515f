"""Cases: units of texts whose truth is known, by which a judge is measured, and how a judge is asked about them.

A measure declares its cases in module ``planted`` of its folder (`tasks.measures.cases`). A judge's card, stage
`calibrate` and planted errors of an evaluation ask for them in this one way, and have VERDICTS with the truth.
"""

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import Any

import pandas as pd

from schemas.params import Params
from schemas.tables.verdicts import Judgement, verdict_table
from tasks.llm.ask_all import Unscored
from tasks.llm.calls import Ask
from tasks.texts.document import WHOLE

Row = dict[str, Any]
Judged = tuple[list[Row], Unscored]
"""Rows of VERDICTS with the truth, and what could not be judged."""
PLANTED = "planted"
"""System and condition of cases: nobody's text, judged in the one way of its measure."""
FIRST_PLACE = "0"
"""Item of verdicts on what is first, or alone, in its call on a card."""


@dataclass(frozen=True)
class Given:
    """What cases are made of: ``texts`` by document, and the ``prompts`` that they were written for, if simulated.

    ``card``: for a card, which also has harder cases, ``size`` times as many as a card by default; else those of
    simulated texts include what the writer is known to have done.
    """

    texts: Mapping[str, str]
    params: Params
    prompts: pd.DataFrame | None = None
    card: bool = False
    size: float = 1.0

    def scaled(self, number: int) -> int:
        """A number of the card by default in proportion, at least 1."""
        return max(ceil(number * self.size), 1)


@dataclass(frozen=True)
class Asked:
    """The question of a case, whose answer is the truth, and what cases are called whose answer is yes, and no.

    ``by_source``: the text to judge by is a source, or a part of one.
    """

    question: str
    yes: str = "cases whose answer is yes"
    no: str = "cases whose answer is no"
    by_source: bool = False


@dataclass(frozen=True)
class Corrected:
    """Scores that are corrected by matched cases: verdicts in table ``stem`` by their ``metrics``.

    ``condition``: in place of that of the verdicts. ``matched``: by system and metric, the metric and the kinds of the
    cases that are like the units of the score.
    """

    stem: str
    metrics: Mapping[str, Any]
    matched: Mapping[tuple[str, str], tuple[str, frozenset[str]]]
    condition: str | None = None


@dataclass(frozen=True)
class Cases:
    """Cases of one task: ``make`` makes them, None where there can be none, and ``judge`` has a judge answer them.

    ``name``: of the task on a card, at ``place`` among others; ``asked`` by metric of its verdicts there, empty where a
    card leaves it out. Rows of verdicts without a unit are numbered there, after ``letter``. ``of_claims``:
    `Verdicts` on the claims of the card (`Question`), in place of ``make`` and ``judge`` there. ``of_records``: on a
    card, it needs texts whose record is known. ``checks``: the annotator is asked in place of the judge.
    """

    name: str
    make: Callable[[Given], Any] = lambda _: None
    judge: Callable[[Ask, Any, Params], Awaitable[Judged]] | None = None
    asked: Mapping[str, Asked] = field(default_factory=dict)
    place: int = 0
    letter: str = ""
    of_claims: Callable[[Ask, Sequence[Any], Params], Awaitable[Sequence[Any]]] | None = None
    of_records: bool = False
    checks: bool = False
    corrected: Corrected | None = None


async def judge_made(ask: Ask, cases: Cases, given: Given) -> Judged:
    """Rows of VERDICTS on the cases of a task, and what could not be judged."""
    made = cases.make(given)
    return ([], []) if made is None or cases.judge is None else await cases.judge(ask, made, given.params)


def case_verdict(document: str, metric: str, kind: str, text: str, truth: bool, judged: Judgement, **asked: str) -> Row:
    """What a judge said of a case, and the right answer; `planted_table` numbers the cases of a document.

    ``asked``: further columns of CASES.
    """
    about = {"document": document, "system": PLANTED, "condition": PLANTED, "item": WHOLE, "metric": metric}
    value = None if judged is None else float(judged)
    return {**about, "kind": kind, "text": text, "truth": float(truth), "value": value, **asked}


def planted_table(rows: Iterable[Row], judge: str) -> pd.DataFrame:
    """Rows as VERDICTS of one judge; the units of a document and metric are numbered."""
    seen, numbered = Counter[tuple[str, str]](), []
    for row in rows:
        key = row["document"], row["metric"]
        numbered.append({**row, "unit": str(seen[key])})
        seen[key] += 1
    return verdict_table(numbered, judge=judge)


def case_row(
    case: str, task: str, kind: str, document: str, premise: str, claim: str, truth: bool, judged: Judgement,
    *, call: str | None = None, pair: str = "",
) -> Row:  # fmt: skip
    """A row of VERDICTS with the columns of CASES on a case without variants.

    ``call``: name of the call that it is asked in, its own by default. ``pair``: the case of the other truth, if any.
    """
    asked = {"premise": premise, "call": call or case, "pair": f"{pair}/" if pair else "", "id": f"{case}/"}
    named = {"unit": case, "condition": "", "item": FIRST_PLACE}
    return {**case_verdict(document, task, kind, claim, truth, judged), **asked, **named}
