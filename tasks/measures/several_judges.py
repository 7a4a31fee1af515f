"""Several judges of the same claims, facts and answers: who lists and who judges, and the tables that compare them."""

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pandas as pd

from schemas.params import Params
from schemas.tables.verdicts import LOST, in_order, verdict_table
from tasks.llm.calls import Answer, Ask, Call
from tasks.measures.declared import Plan
from tasks.measures.described import COMPARED, MEASURES, METRICS, OF_OUTPUTS, chosen
from tasks.measures.evaluation import evaluation_tables
from tasks.measures.measure import unit_values
from tasks.measures.note_qa.measure import NAME as NOTE_QA
from tasks.statistics.metric_rows import metric_table
from tasks.statistics.paired_verdicts import agreement
from tasks.texts.document import Document, Tables

STAGE = "judges"
READING = frozenset(one.name for one in OF_OUTPUTS if one.params == "doclens")
"""Measures that read claims in the style of DocLens's params."""
EACH = "each judge's reading"
_JUDGED = re.compile(
    rf"(?:{'|'.join(one for one in COMPARED if METRICS[one].judged)})(?:_graded)?(?:_pooled)?(?:_bounds)?"
)


class Divided:
    """Has ``lister`` list claims and facts and weigh them, and ``judge`` answer all other calls."""

    def __init__(self, lister: Ask, judge: Ask) -> None:
        self._lister, self._judge, self.label = lister, judge, judge.label

    async def __call__(self, calls: Sequence[Call]) -> list[Answer]:
        """Answer the calls, in order."""
        lists = [call.reply is not None and call.reply.lists for call in calls]
        parts = [[call for call, one in zip(calls, lists, strict=True) if one is side] for side in (False, True)]
        given = [iter(found) for found in await asyncio.gather(self._judge(parts[0]), self._lister(parts[1]))]
        return [next(given[one]) for one in lists]


class Once:
    """Asks each distinct request once and keeps the answer, failures included: all judges get the same lists."""

    def __init__(self, ask: Ask) -> None:
        self._ask, self.label = ask, ask.label
        self._asked: dict[Call, tuple[asyncio.Future[list[Answer]], int]] = {}

    async def __call__(self, calls: Sequence[Call]) -> list[Answer]:
        """Answer the calls, in order."""
        requests = [replace(call, key="") for call in calls]
        distinct = dict(zip(requests, calls, strict=True))
        if new := [request for request in distinct if request not in self._asked]:
            answers = asyncio.ensure_future(self._ask([distinct[request] for request in new]))
            self._asked |= {request: (answers, at) for at, request in enumerate(new)}
        found = [self._asked[request] for request in requests]
        return [replace((await answers)[at], key=call.key) for call, (answers, at) in zip(calls, found, strict=True)]


def verdicts_of(made: Mapping[str, pd.DataFrame], judge: str, *, several_readings: bool = False) -> pd.DataFrame:
    """Yes-or-no VERDICTS of one judge's tables (`tasks.measures.evaluation.evaluate_chunk`).

    A text whose claims could not be listed has none. An answer in free text is accepted where more than half of the
    judge's takes accept it. With ``several_readings`` of claims, the condition does not name the style of each, so that
    verdicts on a claim have one key.
    """
    parts = [verdict_table([], judge=judge)]
    for stage, metrics in MEASURES.items():
        shares = {name: one for name, one in metrics.items() if one.compared and one.judged and one.kind == "mean"}
        if stage in made and shares:
            units = unit_values(made[stage], shares)
            yes = units["value"].gt(0.5).astype(float).mask(units["value"].isna())
            listed = units["unit"].ne(LOST) & (units["text"].ne("") | (stage == NOTE_QA))
            if several_readings and stage in READING:
                units = units.assign(condition=EACH)
            parts.append(units.assign(value=yes, judge=judge)[listed])
    return in_order(pd.concat(parts, ignore_index=True))


def judges_table(
    documents: Sequence[Document],
    plan: Plan,
    made: Mapping[str, Tables],
    verdicts: pd.DataFrame,
    params: Params,
    labels: Mapping[str, str],
) -> pd.DataFrame:
    """METRICS of the systems by judge, with the judge as condition, and Cohen's kappa of every two judges.

    ``made``: each judge's tables; ``verdicts``: `verdicts_of` all; ``labels``: model by judge. In the rows of two
    judges (`tasks.statistics.paired_verdicts.agreement`) the item is the metric.
    """
    plan = replace(plan, metrics=tuple(one.choice for one in chosen(plan.metrics) if one.judged))
    tables = []
    for judge, own in made.items():
        rows, _ = evaluation_tables(documents, plan, own, params, provenance=f"judge: {labels[judge]}")
        tables.append(rows[rows["metric"].str.fullmatch(_JUDGED)].assign(condition=judge))
    pairs = metric_table(agreement(verdicts, list(made)), stage=STAGE, seed=params.seed)
    return pd.concat([*tables, pairs], ignore_index=True)
