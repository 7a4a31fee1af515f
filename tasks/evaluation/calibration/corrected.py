"""Scores as judged and corrected for the judge's error rates on cases of the kind that the score sums up.

The error rates of a score come from matched cases only: sentences that the compaction of the simulated writer kept or
left out, claims that it was asked for and wrote or not, shortened statements. Verbatim copies are never used: the judge
finds them all, so that pooled rates are too high for the paraphrases that it is asked about.
"""

from dataclasses import dataclass

import pandas as pd

from tasks.evaluation.calibration.judge_rates import STAGE
from tasks.statistics.metric_rows import Row, mean_row, metric_row, metric_table
from tasks.statistics.misclassification import NOT_DEFINED, Corrected, Stratum, corrected_mean


@dataclass(frozen=True)
class Matched:
    """The judge's step and the kinds of planted cases that are like the items of a score."""

    step: str
    kinds: frozenset[str]


_COMPACTED = frozenset({"kept by the writer", "left out by the writer"})
_CITED = frozenset({"right citation", "redundant citation", "wrong citation"})
MATCHED = {
    ("notes against prompts", "claim_recall"): Matched(
        "entailment",
        frozenset(
            {
                "asked for and written",
                "dropped by the writer",
                "contradicted by the writer",
                "descriptor written",
                "descriptor lost by the writer",
            }
        ),
    ),
    ("compact notes", "claim_recall"): Matched("entailment", _COMPACTED),
    ("compact notes", "claim_precision"): Matched(
        "entailment", frozenset({"shortened by the writer", "detail changed by the writer"})
    ),
    ("compact notes", "omission_share"): Matched("omissions", _COMPACTED),
    ("compact notes", "omission_count"): Matched("omissions", _COMPACTED),
    ("compact notes", "omission_weight"): Matched("omissions", _COMPACTED),
    ("cited compact notes", "citation_recall"): Matched("citation recall", _CITED),
    ("cited compact notes", "citation_precision"): Matched("citation precision", _CITED),
}
"""Matched cases by system and metric; other scores are not corrected."""


def corrected_rows(
    scores: pd.DataFrame, planted: pd.DataFrame, unscored: pd.Series, *, seed: int, provenance: str
) -> pd.DataFrame:
    """METRICS: the raw mean of each score, the corrected one, and whether the correction is identified.

    ``scores`` has the columns system, condition, item, metric, value and ``ceiling`` (the value if every answer were
    yes), one row a text. ``unscored`` counts what could not be judged, indexed by system, condition, item and metric. A
    corrected value outside 0 and the ceiling is not cut: ``_corrected_identified`` is then 0, as it is where no matched
    case exists.
    """
    rows: list[Row] = []
    for (system, condition, item, metric), group in scores.groupby(
        ["system", "condition", "item", "metric"], sort=True
    ):
        values = group["value"].tolist()
        missing = int(unscored.get((system, condition, item, metric), 0))
        keys = {"system": system, "condition": condition, "item": item, "unscored": missing}
        cases = matched_cases(planted, str(system), str(metric))
        found = _correct(group, cases, seed)
        rows.append(mean_row(metric, values, seed=seed, **keys))
        rows.append(metric_row(f"{metric}_corrected", found.value, found.low, found.high, n=len(values), **keys))
        rows.append(metric_row(f"{metric}_corrected_identified", float(found.inside), n=len(cases), **keys))
    return metric_table(rows, stage=STAGE, seed=seed, provenance=provenance)


def matched_cases(planted: pd.DataFrame, system: str, metric: str) -> pd.DataFrame:
    """The judged planted cases that are like the items of a score; none for a score without matched kinds."""
    matched = MATCHED.get((system, metric))
    if matched is None:
        return planted.iloc[:0]
    alike = (planted["step"] == matched.step) & planted["kind"].isin(matched.kinds)
    return planted[alike & planted["judged"].notna()]


def _correct(group: pd.DataFrame, cases: pd.DataFrame, seed: int) -> Corrected:
    if cases.empty:
        return NOT_DEFINED
    records = cases["document"].str.split("-").str[0]  # cases of all texts written for a record are one cluster
    judged, truth = cases["judged"].to_numpy(dtype=bool), cases["truth"].to_numpy(dtype=bool)
    positives = [Stratum(judged[truth], records[truth].to_numpy())]
    negatives = [Stratum(judged[~truth], records[~truth].to_numpy())]
    return corrected_mean(group["value"], positives, negatives, seed=seed, ceilings=group["ceiling"])
