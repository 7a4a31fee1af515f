"""The measure: facts of the source that outputs omit, and what is computed of omissions beyond means.

That is their correlation with overlap (MED-OMIT, Tables 2 and 5), degrees, and ranks under other weights.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd

from schemas.params import Params
from schemas.params.measures import MedOmit, Overlap
from tasks.llm.calls import Asks
from tasks.measures.declared import Declared, Made, Panel, Unit
from tasks.measures.declared import Plan as Evaluated
from tasks.measures.measure import Metric, Metrics, figures, scores
from tasks.measures.med_omit.fact_score import CATEGORIES, IMPORTANCE
from tasks.measures.med_omit.judging import (
    GRADED,
    METRICS,
    NAME,
    OMISSIONS,
    OMITTED,
    REMOVED,
    UNIQUE,
    judge,
    judged_part,
    name_encoder,
)
from tasks.measures.overlap.scoring import correlated, score_correlations, score_texts
from tasks.statistics.agreement import correlation
from tasks.statistics.intervals import COUNT
from tasks.statistics.metric_rows import FEWEST_OF_DEVIATION, Row, metric_row
from tasks.texts.document import Document, Tables

CORRELATED = {"weight": "omission_weight", "count": "omission_count"}
"""Scores that are correlated with overlap, by their names in its rows."""


def overlap_correlations(
    verdicts: pd.DataFrame, summaries: pd.DataFrame, references: Mapping[str, str], params: Overlap, **about: Any
) -> pd.DataFrame:
    """METRICS of the correlation of omission scores with overlap of the summaries with references (Table 5)."""
    known = scores(verdicts[verdicts["document"].isin(references)], OMISSIONS)
    wide = known.pivot(index=["document", "system"], columns="metric", values="value").reset_index()
    merged = wide.merge(summaries, on=["document", "system"])
    overlap, _ = score_texts([references[name] for name in merged["document"]], merged["summary"].tolist(), params)
    joined = pd.concat([merged.drop(columns="summary"), overlap], axis=1)
    rows = score_correlations(joined, CORRELATED, correlated(joined), stage=NAME, **about)
    return rows.assign(unscored=len(references) - rows["n"])


SYSTEMS = {"gpt-4": "GPT-4 (zero-shot, ACI-BENCH)", "gpt-3.5-turbo": "ChatGPT (zero-shot, ACI-BENCH)"}
"""The outputs of ``doclens.systems`` by each printed name of the model."""

WEIGHT_GRADED = "omission_weight_graded"
OF_SUMMARIES: Metrics = {
    WEIGHT_GRADED: Metric(
        bounds=COUNT,
        removal="rises",
        meaning="omission weight, where a fact that is omitted in part counts by med_omit.part_weight",
    )
}


def graded_weights(verdicts: pd.DataFrame, part_weight: float) -> pd.DataFrame:
    """The weight of each summary, in which a fact that is omitted in part counts ``part_weight`` of its score.

    The paper counts every omission in full and leaves degrees to future work (Section 3). It is nan where a fact
    without a judgement or an omitted fact without a score may add to it, and where no fact has a score.
    """
    facts = verdicts[verdicts["metric"] == OMITTED]
    degree = facts["verdict"].eq("part").map({True: part_weight, False: 1.0})
    values = (facts["weight"] * degree).mask(facts["value"].eq(0), 0.0).mask(facts["value"].isna())
    texts = [facts["document"], facts["system"]]
    sums = values.groupby(texts).sum(skipna=False).where(facts["weight"].groupby(texts).count() > 0)
    return sums.reset_index(name="value").assign(metric=WEIGHT_GRADED)


def rank_rows(verdicts: pd.DataFrame, weights: Sequence[Sequence[float]]) -> list[Row]:
    """Kendall's tau of the systems by mean omission weight between the paper's weights of categories and others."""
    papers = _mean_weights(verdicts, IMPORTANCE)
    rows = []
    for given in weights:
        other = _mean_weights(verdicts, dict(zip(reversed(CATEGORIES), given, strict=True)))
        tau = correlation(papers, other.reindex(papers.index), "kendall")
        about: Row = {"condition": "other weights of facts", "item": ", ".join(f"{w:g}" for w in given)}
        rows.append(metric_row("kendall_of_systems", tau, n=len(papers), **about))
    return rows


def _mean_weights(verdicts: pd.DataFrame, importance: Mapping[Any, float]) -> pd.Series:
    of = {name: verdicts[verdicts["metric"] == name].set_index(["document", "unit"]) for name in (GRADED, UNIQUE)}
    grades = of[GRADED]["verdict"].map(importance).astype(float)
    weights = np.fmax(grades, of[UNIQUE]["value"].reindex(grades.index)).where(grades.notna())
    facts = verdicts[verdicts["metric"] == OMITTED]
    weighed = facts.assign(weight=weights.reindex(pd.MultiIndex.from_frame(facts[["document", "unit"]])).to_numpy())
    found = scores(weighed, {"omission_weight": OMISSIONS["omission_weight"]})
    return found.groupby("system")["value"].mean()


def scope_of(params: MedOmit, plan: Evaluated) -> Literal["whole", "history"]:
    """What is judged in an evaluation: the history of the dialogues of ACI-BENCH, whole texts of other data."""
    if params.scope == "auto":
        return "history" if plan.layout == "aci_bench" else "whole"
    return params.scope


async def _judge(plan: Evaluated, params: Params, ask: Asks, documents: Sequence[Document]) -> Tables:
    """Omissions of outputs without citation marks."""
    about: dict[str, Any] = {"scope": scope_of(params.med_omit, plan), "expected": plan.systems}
    return await judge(ask("judge"), documents, params.med_omit, name_encoder(params.embed), **about)


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
    rows = rows.assign(value=rows["value"].mask(untested))
    return pd.concat([found, rows], ignore_index=True)


async def _of_summaries(_: Sequence[str], params: Params, ask: Asks, documents: Sequence[Document]) -> Tables:
    own = params.med_omit.model_copy(update={"compare_differentials": False})
    return await judge(ask("judge"), documents, own, name_encoder(params.embed))


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
