"""Measures the detection of omissions on summaries rewritten without chosen facts, as MED-OMIT's released code does.

The paper does not report this test. It needs a writer that follows instructions: the simulator's writer does not
rewrite.
"""

from collections.abc import Mapping, Sequence
from zlib import crc32

import numpy as np
import pandas as pd

from tasks.llm.ask_all import Unscored, ask_texts
from tasks.llm.calls import Ask, Call
from tasks.llm.prompts import render
from tasks.llm.requests import tokens_needed
from tasks.measures.med_omit.cases import Case, find_omissions
from tasks.measures.med_omit.metrics import STAGE
from tasks.measures.med_omit.replies import fact_lines
from tasks.statistics.metric_rows import mean_row, metric_table

COLUMNS = ["document", "fact", "removed", "omitted"]
REMOVAL_STREAM = 97


async def corrupt_summaries(
    writer: Ask,
    judge: Ask,
    facts: pd.DataFrame,
    omitted: pd.DataFrame,
    summaries: Mapping[str, str],
    *,
    remove: int,
    seed: int,
) -> tuple[pd.DataFrame, Unscored]:
    """The facts that each summary states: whether they were removed, and whether the judge then finds them omitted.

    Up to ``remove`` of the stated facts of a document are removed, a seeded draw that leaves at least one. ``facts`` is
    FACTS, ``omitted`` OMITTED of the summaries as they were.
    """
    kept = omitted[omitted["omitted"].eq(False).fillna(False)]
    stated = {str(key): group.tolist() for key, group in kept.groupby("document")["fact"]}
    cases = [
        Case(str(key), "", {one.fact: (one.kind, one.text) for one in group.itertuples()})
        for key, group in facts.groupby("document", sort=True)
        if len(stated.get(str(key), [])) > 1 and key in summaries
    ]
    removed = {case.key: _draw(stated[case.key], remove, seed, case.key) for case in cases}
    calls = {case.key: _call(case, removed[case.key], summaries[case.key]) for case in cases}
    rewritten: dict[str, str]
    rewritten, unscored = await ask_texts(writer, calls, "without_facts")
    found, failures = await find_omissions(judge, [case for case in cases if case.key in rewritten], rewritten)
    rows = [
        (key, fact, fact in removed[key], fact in now) for key, now in sorted(found.items()) for fact in stated[key]
    ]
    table = pd.DataFrame(rows, columns=COLUMNS).astype({"document": "str", "fact": "str"})
    failed = [{**row, "step": f"{row['step']} of the rewritten summary"} for row in failures]
    return table, [*unscored, *failed]


def _draw(stated: Sequence[str], remove: int, seed: int, document: str) -> set[str]:
    random = np.random.default_rng([seed, REMOVAL_STREAM, crc32(document.encode())])
    return set(random.choice(stated, size=min(remove, len(stated) - 1), replace=False).tolist())


def _call(case: Case, removed: set[str], summary: str) -> Call:
    facts = fact_lines({fact: text for fact, text in case.texts.items() if fact in removed})
    messages = render(__package__, "without_facts", facts=facts, summary=summary)
    return Call(f"{case.key}/without_facts", messages, least_tokens=tokens_needed(summary, times=1))


def corruption_rows(table: pd.DataFrame, *, seed: int, provenance: str, condition: str) -> pd.DataFrame:
    """Share of the removed facts found omitted, and of the kept facts not found omitted, over documents."""
    rows = []
    for metric, removed in (("removed_found", True), ("kept_not_found", False)):
        chosen = table[table["removed"] == removed]
        shares = (chosen["omitted"] == removed).groupby(chosen["document"]).mean()
        rows.append(mean_row(metric, shares.to_numpy(dtype=float), seed=seed, system="rewritten summaries"))
    return metric_table(rows, stage=STAGE, condition=condition, item="all", seed=seed, provenance=provenance)
