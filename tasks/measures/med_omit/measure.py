"""The measure: facts of the source that outputs omit, and how the omissions of an output go with its overlap."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import pandas as pd

from schemas.params import Params
from schemas.params.measures import MedOmit, Overlap
from tasks.llm.calls import Asks
from tasks.measures.declared import Declared, Panel, Unit
from tasks.measures.declared import Plan as Evaluated
from tasks.measures.measure import Metrics, figures
from tasks.measures.med_omit.fact_score import IMPORTANCE, Encode
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
from tasks.measures.med_omit.reproduction import overlap_correlations
from tasks.measures.med_omit.summaries import METRICS as OF_SUMMARIES
from tasks.measures.med_omit.summaries import graded_weights, rank_rows
from tasks.statistics.deviation import FEWEST_OF_DEVIATION
from tasks.texts.document import Document, Tables


def scope_of(params: MedOmit, plan: Evaluated) -> Literal["whole", "history"]:
    """What is judged in an evaluation: the history of the dialogues of ACI-BENCH, whole texts of other data."""
    if params.scope == "auto":
        return "history" if plan.layout == "aci_bench" else "whole"
    return params.scope


@dataclass(frozen=True)
class MedOmitMeasure:
    """Omissions of outputs without citation marks; with ``overlap``, also their correlation with it."""

    plan: Plan
    params: MedOmit
    encode: Encode
    overlap: Overlap | None = None
    name: str = NAME

    @property
    def metrics(self) -> Metrics:
        """`METRICS`."""
        return METRICS

    async def judge(self, ask: Asks, documents: Sequence[Document]) -> Tables:
        """As `judge`."""
        return await judge(ask("judge"), documents, self.plan, self.params, self.encode)

    def figures(
        self, documents: Sequence[Document], made: Tables, _: pd.DataFrame, *, seed: int, provenance: str
    ) -> pd.DataFrame:
        """METRICS, and the correlation of omissions with overlap, where p values of few documents are left out."""
        verdicts, scope = made[NAME], self.plan.scope
        found = figures(verdicts, METRICS, stage=NAME, seed=seed, provenance=provenance)
        if self.overlap is None:
            return found
        references = {one.id: judged_part(one.reference, scope) for one in documents if one.reference is not None}
        about = {"seed": seed, "provenance": provenance, "condition": self.params.variant}
        rows = overlap_correlations(verdicts, made["summaries"], references, self.overlap, **about)
        untested = rows["metric"].str.endswith("_p") & (rows["n"] < FEWEST_OF_DEVIATION)
        rows = rows.assign(unscored=len(references) - rows["n"], value=rows["value"].mask(untested))
        return pd.concat([found, rows], ignore_index=True)


def _made(plan: Evaluated, params: Params) -> MedOmitMeasure:
    own = Plan(scope_of(params.med_omit, plan), expected=plan.systems)
    overlap = params.overlap if "overlap" in plan.metrics else None
    return MedOmitMeasure(own, params.med_omit, name_encoder(params.embed), overlap)


def _of_summaries(_: Sequence[str], params: Params) -> MedOmitMeasure:
    compared = params.med_omit.model_copy(update={"compare_differentials": False})
    return MedOmitMeasure(Plan(), compared, name_encoder(params.embed))


def _units(tables: Tables) -> Iterator[Unit]:
    """The facts of each document, the most important first, for each system."""
    facts = tables[TABLE]
    order = [*IMPORTANCE, None]
    graded = facts[facts["metric"] == GRADED].astype(object)
    graded = graded.where(graded.notna(), None)
    rank = graded["verdict"].map(order.index)
    graded = graded.assign(rank=rank, lightness=-graded["weight"].fillna(0).astype(float))
    omitted = dict(iter(facts[facts["metric"] == OMITTED].groupby(["document", "unit"], sort=False)))
    for row in graded.sort_values(["document", "rank", "lightness"], kind="stable").itertuples():
        evidence = {stance: ", ".join(diagnoses) for stance, diagnoses in json.loads(row.reason).items()}
        note = "; ".join(f"{stance} {diagnoses}" for stance, diagnoses in evidence.items() if diagnoses)
        weight = None if row.weight is None else round(row.weight, 3)
        judged = omitted.get((row.document, row.unit), facts.iloc[:0])
        for system, value in judged[["system", "value"]].itertuples(index=False):
            verdict = None if pd.isna(value) else int(value == 0)
            yield Unit(row.document, system, row.text, verdict, row.verdict or "", note, weight)


TABLE = "facts"
MEASURE = Declared(
    NAME,
    {**METRICS, **REMOVED, **OF_SUMMARIES},
    _made,
    "med_omit",
    meanings=MEANINGS,
    table=TABLE,
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
