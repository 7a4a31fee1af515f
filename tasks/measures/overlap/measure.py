"""The measure of overlap of outputs with the reference, as a whole and by section."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from schemas.params.measures import Overlap
from tasks.llm.calls import Asks, unscored_row, unscored_table
from tasks.measures.declared import Declared
from tasks.measures.measure import Metrics
from tasks.measures.overlap.scoring import (
    MEANINGS,
    METRICS,
    NAME,
    agreement_rows,
    beside_claims,
    has_words,
    overlap_rows,
    score_outputs,
    section_rouge,
    verdicts_of,
)
from tasks.texts.document import WHOLE, Document, Sectioning, Tables


@dataclass(frozen=True)
class OverlapMeasure:
    """The measure: outputs of ``systems`` against the reference, as a whole and by section.

    Documents without a reference are left out. An output that is missing, and one whose reference has no word, has no
    value.
    """

    systems: Sequence[str]
    sections: Sectioning
    params: Overlap
    name: str = NAME
    metrics: Metrics = field(default_factory=lambda: METRICS)

    async def judge(self, ask: Asks, documents: Sequence[Document]) -> Tables:
        """Score all: the tables verdicts, absent (metrics that are not computed, and why) and unscored."""
        having = [one for one in documents if one.reference is not None]
        texts = {
            system: {one.id: one.outputs[system] for one in having if system in one.outputs} for system in self.systems
        }
        scored, absent = score_outputs(texts, having, self.params)
        every = pd.MultiIndex.from_product([[one.id for one in having], self.systems], names=["document", "system"])
        whole = scored.set_index(["document", "system"]).reindex(every).reset_index()
        wordless = [one.id for one in having if not has_words(str(one.reference))]
        return {
            "verdicts": verdicts_of(whole, section_rouge(texts, having, self.sections)),
            "absent": pd.DataFrame(absent.items(), columns=["metric", "reason"], dtype="str"),
            "unscored": unscored_table(unscored_row(name, "ROUGE", "the reference has no word") for name in wordless),
        }

    def figures(
        self, documents: Sequence[Document], made: Tables, scores: pd.DataFrame, *, seed: int, provenance: str
    ) -> pd.DataFrame:
        """METRICS, absent metrics, and the agreement of overlap with claim recall and precision of whole texts."""
        verdicts, referenced = made[NAME], sum(document.reference is not None for document in documents)
        absent = dict(made["absent"].drop_duplicates().itertuples(index=False, name=None))
        whole = verdicts[verdicts["item"] == WHOLE].pivot(
            index=["document", "system"], columns="metric", values="value"
        )
        shared: dict[str, Any] = {"stage": NAME, "seed": seed}
        together = beside_claims(whole.reset_index(), scores)
        agreement = agreement_rows(together, condition="agreement of metrics", provenance=provenance, **shared)
        of = {"notes": referenced * len(self.systems), "systems": len(self.systems)}
        unscored = agreement["system"].map(of).astype(int) - agreement["n"]
        return pd.concat(
            [overlap_rows(verdicts, absent, **shared), agreement.assign(unscored=unscored)], ignore_index=True
        )


MEASURE = Declared(
    NAME,
    METRICS,
    lambda plan, params: OverlapMeasure(plan.systems, plan.sections, params.overlap),
    "overlap",
    meanings=MEANINGS,
    roles=lambda _: (),
    referenced=True,
)
