"""The measure: facts of the source that outputs omit, and how the omissions of an output go with its overlap."""

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from schemas.params import Params
from schemas.params.measures import MedOmit, Overlap
from tasks.llm.calls import Asks
from tasks.measures.measure import Metrics, figures
from tasks.measures.med_omit.fact_score import Encode
from tasks.measures.med_omit.judging import METRICS, NAME, Plan, judge, judged_part, name_encoder
from tasks.measures.med_omit.reproduction import overlap_correlations
from tasks.statistics.deviation import FEWEST_OF_DEVIATION
from tasks.texts.document import Document, Tables


@dataclass(frozen=True)
class MedOmitMeasure:
    """Omissions of outputs without citation marks; with ``overlap``, also their correlation with it."""

    plan: Plan
    params: MedOmit
    encode: Encode
    overlap: Overlap | None = None
    name: str = NAME
    table: str = "facts"

    @classmethod
    def of(cls, params: Params, systems: Sequence[str], *, history: bool, beside_overlap: bool) -> "MedOmitMeasure":
        """The measure of systems of which every document should have an output."""
        plan = Plan("history" if history else "whole", expected=systems)
        overlap = params.overlap if beside_overlap else None
        return cls(plan, params.med_omit, name_encoder(params.embed), overlap)

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
