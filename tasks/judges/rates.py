"""Error rates of a judge from cases with known truth, scores corrected for them, and judges compared with their cost.

A case has a question with a true answer, yes or no, such as whether a claim is entailed, a fact omitted, or a text in
error. Sensitivity is the share of cases with the answer yes that are judged yes, specificity the share of those with
the answer no that are judged no. Precision is the share of cases judged yes whose answer is yes. It depends on the
prevalence, the share of true yes, and is given only for a stated one: that of the labelled items, if these are a random
sample (`precision` and `labelled_share`), or one half for planted cases, whose mix means nothing (`precision_at_half`).

The error rates of a score come from matched cases only: sentences that the compaction of the simulated writer kept or
left out, claims that it was asked for and wrote or not, shortened statements. Verbatim copies are never used: the judge
finds them all, so that pooled rates are too high for the paraphrases that it is asked about.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from schemas.params.llm import Price
from tasks.llm.costs import Usage, cost
from tasks.statistics.intervals import COUNT, SHARE
from tasks.statistics.metric_rows import NAN, Row, bounds_rows, detection_rows, mean_row, metric_row, metric_table
from tasks.statistics.misclassification import SHIFTS, corrected_mean

STAGE = "calibrate"


def rate_rows(
    verdicts: pd.DataFrame, *, seed: int, of_errors: bool = False, clusters: Callable[[str], str] = str, **shared: Any
) -> list[Row]:
    """METRICS rows of VERDICTS with a truth, by metric: rates (item "all"), and the share judged rightly of each kind.

    ``of_errors``: only for kinds whose answer is yes, as their sensitivity. ``clusters`` names what the documents of
    several cases have in common; by default the cases of a document are one cluster.
    """
    rows: list[Row] = []
    for metric, cases in verdicts.reset_index(drop=True).groupby("metric", sort=True):
        truth, judged = cases["truth"].astype(bool), cases["value"].astype("boolean")
        right, of = judged.eq(truth), cases["document"].map(clusters)
        rows += detection_rows(truth, judged, of, seed=seed, condition=metric, item="all", **shared)
        for kind, group in (cases[truth] if of_errors else cases).groupby("kind", sort=True):
            scored = right[group.index].dropna()
            keys = {"condition": metric, "item": kind, "unscored": len(group) - len(scored), **shared}
            name = "sensitivity" if of_errors else "judged_rightly"
            row = mean_row(name, scored, clusters=of[scored.index], seed=seed, **keys)
            rows += [row, *bounds_rows(row)]
    return rows


def rates(
    verdicts: pd.DataFrame, *, seed: int, provenance: str, system: str = "judge", stage: str = STAGE, **how: Any
) -> pd.DataFrame:
    """`rate_rows` of one judge, the ``system``, as METRICS."""
    rows = rate_rows(verdicts, seed=seed, **how)
    return metric_table(rows, stage=stage, system=system, provenance=provenance)


def judge_rows(
    verdicts: pd.DataFrame, usage: pd.DataFrame, prices: Mapping[str, Price | None], *, seed: int
) -> pd.DataFrame:
    """METRICS of each judge on planted claims: errors found by kind, and use per 1,000 claims.

    An error is a claim that is not entailed, and finding it is to judge it so. ``verdicts``: VERDICTS on the claims.
    ``usage``: judge, claims, calls, prompt and completion, a row for each judge and chunk. ``prices`` by judge: None
    leaves the dollars undefined.
    """
    tables, planted = [], "planted claims"
    for judge, own in verdicts.groupby("judge", sort=True):
        errors, name = own.assign(metric=planted, value=1 - own["value"], truth=1 - own["truth"]), str(judge)
        tables.append(rates(errors, seed=seed, system=name, provenance=name, of_errors=True, clusters=record_of))
    totals = usage.groupby("judge", sort=True)[["claims", "calls", "prompt", "completion"]].sum()
    for judge, (claims, calls, prompt, completion) in zip(totals.index, totals.to_numpy().tolist(), strict=True):
        spent, price = Usage(prompt, completion, estimated=True), prices.get(judge)
        dollars = 0.0 if not calls else NAN if price is None else cost(price, spent)
        used = {"calls": calls, "tokens": spent.tokens, "dollars": dollars}
        scale = 1000 / max(claims, 1)
        rows = [metric_row(f"{name}_per_1000_claims", value * scale, n=claims) for name, value in used.items()]
        about = {"stage": STAGE, "system": judge, "seed": seed, "provenance": judge}
        tables.append(metric_table(rows, condition=planted, item="all", **about))
    return pd.concat(tables, ignore_index=True)


def record_of(document: str) -> str:
    """The record that a document of cases of simulated notes was written for."""
    return document.split("-")[0]


def corrected_rows(
    scores: pd.DataFrame,
    planted: pd.DataFrame,
    unscored: pd.Series,
    matched: Mapping[tuple[str, str], tuple[str, frozenset[str]]],
    *,
    seed: int,
    provenance: str,
    other_writer: str | None = None,
) -> pd.DataFrame:
    """METRICS: the raw mean of each score, the corrected one, and its range if the rates were others.

    ``scores`` has the columns system, condition, item, metric, value and ``ceiling`` (the value if every answer were
    yes), one row a text. ``unscored`` counts what could not be judged, indexed by system, condition, item and metric.
    ``matched``: metric and kinds of the cases that are like the units of a score, by system and metric; other scores
    are not corrected. A corrected value outside 0 and the ceiling is not cut: ``_corrected_possible`` is then 0, as it
    is where no matched case exists; 1 does not show that the rates hold for the scored texts. Rows of items "..., rates
    off by 0.05" have the interval if sensitivity and specificity on the scored texts differ by up to 0.05 from those on
    the cases. The cases are made by rules, some by the simulated writer; ``other_writer``, if the scored
    texts are another's, is named in the provenance.
    """
    rows: list[Row] = []
    for (system, condition, item, metric), group in scores.groupby(
        ["system", "condition", "item", "metric"], sort=True
    ):
        missing = int(unscored.get((system, condition, item, metric), 0))
        keys = {"system": system, "condition": condition, "item": item, "unscored": missing}
        of, kinds = matched.get((system, metric), ("", frozenset()))
        cases = planted[(planted["metric"] == of) & planted["kind"].isin(kinds) & planted["value"].notna()]
        n = len(group)
        is_share = bool((group["ceiling"] == 1).all())
        rows.append(mean_row(str(metric), group["value"], bounds=SHARE if is_share else COUNT, seed=seed, **keys))
        known = cases["truth"], cases["value"], cases["document"].map(record_of)
        correct = partial(corrected_mean, group["value"], *known, seed=seed, ceilings=group["ceiling"])
        found, most = correct(), float(np.mean(group["ceiling"].to_numpy()))
        marked = {**keys, "provenance": provenance}
        if other_writer is not None and len(cases):
            marked["provenance"] = f"{provenance}; rates from cases made by rules, scores of texts of {other_writer}"
        rows.append(metric_row(f"{metric}_corrected", *found, n=n, **marked))
        rows.append(metric_row(f"{metric}_corrected_possible", float(0 <= found[0] <= most), n=len(cases), **marked))
        for shift in SHIFTS if len(cases) else ():
            about = {**marked, "item": f"{item}, rates off by {shift:g}"}
            rows.append(metric_row(f"{metric}_corrected", *correct(shift=shift), n=n, **about))
    return metric_table(rows, stage=STAGE, seed=seed, provenance=provenance)
