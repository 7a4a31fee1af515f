"""The measure: facts of the source that outputs omit, and how the omissions of an output go with its overlap."""

import json
from collections.abc import Iterator, Sequence
from typing import Literal

import pandas as pd

from schemas.params import Params
from schemas.params.measures import MedOmit
from tasks.llm.calls import Asks
from tasks.measures.declared import Declared, Made, Panel, Unit
from tasks.measures.declared import Plan as Evaluated
from tasks.measures.measure import figures
from tasks.measures.med_omit.fact_score import IMPORTANCE
from tasks.measures.med_omit.figures import METRICS as OF_SUMMARIES
from tasks.measures.med_omit.figures import graded_weights, overlap_correlations, rank_rows
from tasks.measures.med_omit.judging import (
    GRADED,
    METRICS,
    NAME,
    OMITTED,
    REMOVED,
    Plan,
    judge,
    judged_part,
    name_encoder,
)
from tasks.measures.med_omit.network_importance import MEANINGS
from tasks.statistics.metric_rows import FEWEST_OF_DEVIATION
from tasks.texts.document import Document, Tables


def scope_of(params: MedOmit, plan: Evaluated) -> Literal["whole", "history"]:
    """What is judged in an evaluation: the history of the dialogues of ACI-BENCH, whole texts of other data."""
    if params.scope == "auto":
        return "history" if plan.layout == "aci_bench" else "whole"
    return params.scope


async def _judge(plan: Evaluated, params: Params, ask: Asks, documents: Sequence[Document]) -> Tables:
    """Omissions of outputs without citation marks."""
    own = Plan(scope_of(params.med_omit, plan), expected=plan.systems)
    return await judge(ask("judge"), documents, own, params.med_omit, name_encoder(params.embed))


def _figures(
    plan: Evaluated, params: Params, documents: Sequence[Document], tables: Tables, _: pd.DataFrame, made: Made
) -> pd.DataFrame:
    """METRICS; with overlap, also the correlation with it, where p values of few documents are left out."""
    verdicts, scope = tables[NAME], scope_of(params.med_omit, plan)
    found = figures(verdicts, METRICS, stage=NAME, **made)
    if "overlap" not in plan.metrics:
        return found
    references = {one.id: judged_part(one.reference, scope) for one in documents if one.reference is not None}
    about = {**made, "condition": params.med_omit.variant}
    rows = overlap_correlations(verdicts, tables["summaries"], references, params.overlap, **about)
    untested = rows["metric"].str.endswith("_p") & (rows["n"] < FEWEST_OF_DEVIATION)
    rows = rows.assign(unscored=len(references) - rows["n"], value=rows["value"].mask(untested))
    return pd.concat([found, rows], ignore_index=True)


async def _of_summaries(_: Sequence[str], params: Params, ask: Asks, documents: Sequence[Document]) -> Tables:
    own = params.med_omit.model_copy(update={"compare_differentials": False})
    return await judge(ask("judge"), documents, Plan(), own, name_encoder(params.embed))


def _units(tables: Tables) -> Iterator[Unit]:
    """The facts of each document, the most important first, for each system."""
    facts, key = tables[TABLE], ["document", "unit"]
    graded = facts[facts["metric"] == GRADED].drop(columns=["system", "value"])
    rows = graded.merge(facts.loc[facts["metric"] == OMITTED, [*key, "system", "value"]], on=key)
    order = {category: place for place, category in enumerate(IMPORTANCE)}
    rows = rows.assign(rank=rows["verdict"].map(order).fillna(len(order)))
    for row in rows.sort_values(["rank", "weight"], ascending=[True, False]).itertuples():
        note = "; ".join(f"{stance} {', '.join(found)}" for stance, found in json.loads(row.reason).items() if found)
        verdict = None if pd.isna(row.value) else int(row.value == 0)
        weight = None if pd.isna(row.weight) else round(row.weight, 3)
        category = "" if pd.isna(row.verdict) else row.verdict
        yield Unit(row.document, row.system, row.text, verdict, category, note, weight)


TABLE = "facts"
MEASURE = Declared(
    NAME,
    {**METRICS, **REMOVED, **OF_SUMMARIES},
    _judge,
    "med_omit",
    figures=_figures,
    meanings=MEANINGS,
    table=TABLE,
    cited="MED-OMIT (Schumacher et al. 2024)",
    of_summaries=_of_summaries,
    summary_scores=lambda verdicts, params: graded_weights(verdicts, params.med_omit.part_weight),
    summary_rows=lambda verdicts, params: rank_rows(verdicts, params.med_omit.weights),
    panel=Panel(
        _units,
        title="Facts of the source left out, by importance",
        kind="fact of the source",
        tally="facts of the source are left out",
        verdict="stated by the output; weight: of its omission, 0 to 1",
        lacking=True,
        groups=tuple(IMPORTANCE),
    ),
)
