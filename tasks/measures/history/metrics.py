"""Metrics of summaries of patients' notes and the truth, and whether each metric follows it.

Truth: `true_recall`, the share of the record's facts that a summary states, `true_precision`, the share of its
statements that the record supports, and `true_errors`, the share that contradict it. Metrics that are used without a
record: claims against the notes, and those of every measure that declares how it is tested on summaries.

A metric passes the test of dose and response if it gets worse as facts are removed from a summary (truth: the share of
facts left) or false statements are added (the share of statements that are true): the interval of its slope excludes 0.
"""

import numpy as np
import pandas as pd

from schemas.params import Params
from tasks.measures.described import METRICS as ALL
from tasks.measures.described import OF_OUTPUTS
from tasks.measures.doclens.judging import GRADED, METRICS
from tasks.measures.history.doses import DAMAGES
from tasks.measures.history.measure import ERRORS, OF_FACTS, OF_STATEMENTS, RECALL, STAGE
from tasks.measures.history.summarising import names_of, not_citing
from tasks.measures.measure import scores as scores_of
from tasks.statistics.agreement import correlation, correlation_interval
from tasks.statistics.intervals import COUNT
from tasks.statistics.metric_rows import Row, detection_rows, mean_row, metric_row, metric_table
from tasks.texts.document import SOURCE, WHOLE, Tables

WRITTEN, DAMAGED = "written summaries", "damaged summaries"
"""Rows over all systems."""
SCORES = ["document", "system", "metric", "value"]
TESTED = tuple(one for one in OF_OUTPUTS if one.of_summaries is not None)
"""Measures whose metrics are tested here, beside claims against the notes."""
OF_RECALL = frozenset({RECALL, f"{RECALL}_graded", *(name for name, one in ALL.items() if one.removal)})
"""Metrics that have to get worse as facts are removed; the others as false statements are added."""
LOWER_IS_BETTER = frozenset({ERRORS, *(name for name, one in ALL.items() if one.removal == "rises")})


def summary_scores(made: Tables, params: Params) -> pd.DataFrame:
    """One row for each patient, system and metric (`SCORES`), from the tables of `judge_summaries`."""
    graded = GRADED if made["judged"]["verdict"].notna().any() else {}
    parts = [
        scores_of(made["recalled"], OF_FACTS),
        scores_of(made["errors"], OF_STATEMENTS),
        scores_of(made["judged"], {**METRICS, **graded}),
    ]
    for one in TESTED:
        verdicts = made[one.name][made[one.name]["system"] != SOURCE]
        parts.append(scores_of(verdicts, {name: metric for name, metric in one.metrics.items() if metric.removal}))
        parts += [] if one.summary_scores is None else [one.summary_scores(verdicts, params)]
    scores = pd.concat([part[SCORES] for part in parts], ignore_index=True).dropna(subset="value")
    return scores.sort_values(SCORES[:3], ignore_index=True)


def metric_rows(
    made: Tables,
    truth: pd.DataFrame,
    summaries: pd.DataFrame,
    params: Params,
    *,
    patients: int,
    seed: int,
    provenance: str,
) -> pd.DataFrame:
    """METRICS: means by system, dose and response, agreement with the truth, ranks under other weights, the judge.

    ``truth``: SUMMARY_TRUTH; ``patients``: how many should have summaries.
    """
    scores = summary_scores(made, params)
    damaged = set(truth["system"])
    written = scores[~scores["system"].isin(damaged)]
    rows = [
        *_means(scores, truth, patients),
        *_lengths(summaries),
        *_gains(written, summaries),
        *dose_rows(scores, truth),
        *_agreement(written),
        *_judge_rows(made["recalled"], seed),
    ]
    for one in TESTED:  # what a measure computes beyond means
        verdicts = made[one.name][~made[one.name]["system"].isin(damaged)]
        rows += [{"system": WRITTEN, **row} for row in (one.summary_rows(verdicts, params) if one.summary_rows else [])]
    return metric_table(rows, stage=STAGE, item=WHOLE, seed=seed, provenance=provenance)


def _means(scores: pd.DataFrame, truth: pd.DataFrame, patients: int) -> list[Row]:
    """Mean over patients of each metric, the number of patients without a score, and means of what is so by design.

    A written summary is expected of all ``patients``, a damaged one of those in ``truth`` (SUMMARY_TRUTH).
    """
    damaged, rows = truth["system"].value_counts(), list[Row]()
    for (system, metric), group in scores.groupby(["system", "metric"], sort=True):
        keys: Row = {"system": system, "condition": DAMAGED if system in damaged else WRITTEN}
        unscored = int(damaged.get(system, patients)) - len(group)
        rows.append(mean_row(metric, group["value"], bounds=ALL[metric].bounds, unscored=unscored, **keys))
    for system, group in truth.groupby("system", sort=True):
        known = {"system": system, "condition": DAMAGED}
        rows += [mean_row(f"known_{name}", group[name], **known) for name in ("recall", "precision")]
    return rows


def _lengths(summaries: pd.DataFrame) -> list[Row]:
    """Mean length in words, the share of summaries above their limit, and the number of a system that never cites."""
    rows, silent = [], not_citing(summaries)
    for system, group in summaries.groupby(names_of(summaries), sort=True):
        keys: Row = {"system": system, "condition": WRITTEN, "clusters": group["patient"]}
        rows.append(mean_row("length", group["length"], bounds=COUNT, **keys))
        rows.append(mean_row("over_limit", group["length"] > group["words"], **keys))
        if silent[group.index].all():
            count = len(group)
            rows.append(metric_row("summaries_not_citing", count, n=count, system=system, condition=WRITTEN))
    return rows


def _gains(written: pd.DataFrame, summaries: pd.DataFrame) -> list[Row]:
    """Difference of each metric between the longest and the shortest limit, paired by patient and purpose."""
    named = summaries.assign(name=names_of(summaries))[["name", "system", "purpose", "words"]].drop_duplicates()
    merged = written.rename(columns={"system": "name"}).merge(named, on="name")
    least, most = named["words"].min(), named["words"].max()
    rows = []
    for (system, metric), group in merged.groupby(["system", "metric"], sort=True):
        values = group.pivot_table(index=["document", "purpose"], columns="words", values="value")
        if least < most and {least, most} <= set(values.columns):
            gain = (values[most] - values[least]).dropna()
            keys: Row = {"system": system, "condition": f"{most} - {least} words", "item": metric}
            clusters = gain.index.get_level_values("document")
            rows.append(mean_row("difference", gain, bounds=None, clusters=clusters, **keys))
    return rows


def dose_rows(scores: pd.DataFrame, truth: pd.DataFrame) -> list[Row]:
    """Slope of each metric on the truth, by damage: the mean over patients of the slope of each patient's doses.

    Signed so that a metric which follows the truth has a positive slope. ``follows_truth`` is 1 if its whole interval
    is above 0, for metrics that have to notice the damage, and nan for one patient. Slopes that are the same for
    every patient are printed without an interval.
    """
    rows = []
    merged = scores.merge(truth, on=["document", "system"])
    for damage in DAMAGES:
        true = "recall" if damage == "removed" else "precision"
        for metric, group in merged[merged["damage"].eq(damage) | merged["dose"].eq(0)].groupby("metric", sort=True):
            slopes = [
                float(np.polyfit(own[true], own["value"], 1)[0])  # rounded below: a flat line is 0
                for _, own in group.groupby("document", sort=True)
                if own[true].nunique() > 1
            ]
            sign = -1.0 if metric in LOWER_IS_BETTER else 1.0
            keys: Row = {"system": DAMAGED, "condition": damage, "item": metric}
            slope = mean_row("slope", sign * np.round(slopes, 9), bounds=None, **keys)
            follows = float(slope["low"] > 0) if np.isfinite(slope["low"]) else np.nan
            if slope["low"] == slope["high"]:  # patients who all agree do not make a slope certain
                slope |= {"low": np.nan, "high": np.nan}
            rows.append(slope)
            if (metric in OF_RECALL) == (damage == "removed"):
                rows.append(metric_row("follows_truth", follows, n=slope["n"], **keys))
    return rows


def _agreement(written: pd.DataFrame) -> list[Row]:
    """Correlation of each metric, signed as in `dose_rows`, with true recall, over summaries and over systems."""
    truth = written[written["metric"] == RECALL].set_index(["document", "system"])["value"]
    rows = []
    for metric, group in written.groupby("metric", sort=True):
        paired = group.set_index(["document", "system"]).join(truth.rename("truth"), how="inner")
        if metric.startswith(RECALL) or paired.empty:
            continue
        values = paired["value"] * (-1.0 if metric in LOWER_IS_BETTER else 1.0)
        clusters = paired.index.get_level_values("document")
        keys: Row = {"system": WRITTEN, "condition": RECALL}
        found = correlation_interval(values, paired["truth"], "spearman", clusters=clusters)
        rows.append(metric_row("spearman", *found, n=len(paired), item=metric, **keys))
        means = pd.DataFrame({"value": values, "truth": paired["truth"]}).groupby("system").mean()
        tau = correlation(means["value"], means["truth"], "kendall")
        rows.append(metric_row("kendall_of_systems", tau, n=len(means), item=metric, **keys))
    return rows


def _judge_rows(recalled: pd.DataFrame, seed: int) -> list[Row]:
    """Sensitivity and specificity of the judge that decides which facts are stated, on damaged summaries."""
    cases = recalled[recalled["truth"].notna()]
    if cases.empty:
        return []
    about: Row = {"system": DAMAGED, "condition": "judge of the facts that a summary states"}
    judged = cases["value"].astype("boolean")
    return detection_rows(cases["truth"] == 1, judged, cases["document"], seed=seed, **about)
