"""The measure of overlap of outputs with the reference, as a whole and by section."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from schemas.params import Params
from tasks.llm.calls import Asks, unscored_row, unscored_table
from tasks.measures.declared import Declared, Made, Plan
from tasks.measures.overlap.scoring import (
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
from tasks.texts.document import WHOLE, Document, Tables


async def judge(plan: Plan, params: Params, _: Asks, documents: Sequence[Document]) -> Tables:
    """Score outputs against the reference: verdicts, absent (metrics that are not computed, and why) and unscored.

    Documents without a reference are left out. An output that is missing, and one whose reference has no word, has no
    value.
    """
    having = [one for one in documents if one.reference is not None]
    scored, absent = score_outputs(having, params.overlap)
    every = pd.MultiIndex.from_product([[one.id for one in having], plan.systems], names=["document", "system"])
    whole = scored.set_index(["document", "system"]).reindex(every).reset_index()
    wordless = [one.id for one in having if not has_words(str(one.reference))]
    return {
        "verdicts": verdicts_of(whole, section_rouge(having, plan.sections)),
        "absent": pd.DataFrame(absent.items(), columns=["metric", "reason"], dtype="str"),
        "unscored": unscored_table(unscored_row(name, "ROUGE", "the reference has no word") for name in wordless),
    }


def _figures(
    plan: Plan, _: Params, documents: Sequence[Document], tables: Tables, scores: pd.DataFrame, made: Made
) -> pd.DataFrame:
    """METRICS, absent metrics, and the agreement of overlap with claim recall and precision of whole texts."""
    verdicts = tables[NAME]
    absent = dict(tables["absent"].drop_duplicates().itertuples(index=False, name=None))
    whole = verdicts[verdicts["item"] == WHOLE].pivot(index=["document", "system"], columns="metric", values="value")
    shared: dict[str, Any] = {"stage": NAME, "seed": made["seed"]}
    together = beside_claims(whole.reset_index(), scores)
    about = {**shared, "condition": "agreement of metrics", "provenance": made["provenance"]}
    return pd.concat([overlap_rows(verdicts, absent, **shared), agreement_rows(together, **about)], ignore_index=True)


MEASURE = Declared(
    NAME,
    METRICS,
    judge,
    "overlap",
    figures=_figures,
    roles=lambda _: (),
    cited="ROUGE (Lin 2004)",
    referenced=True,
)
