"""Error rates of a judge from cases with known truth, and scores corrected for them.

The error rates of a score come from matched cases only: sentences that the compaction of the simulated writer kept or
left out, claims that it was asked for and wrote or not, shortened statements. Verbatim copies are never used: the judge
finds them all, so that pooled rates are too high for the paraphrases that it is asked about.

Rates of `rate_rows` are those of true cases at the planted mix. Rates of `verdict_rows` are those of errors: recall of
a kind is the share of its cases that are flagged; precision assumes as many cases with the error as without, recall /
(recall + false alarm rate), so that it does not depend on the number of cases of each kind.
"""

from collections.abc import Sequence
from functools import partial

import numpy as np
import pandas as pd

from tasks.statistics.metric_rows import NAN, Row, mean_row, metric_row, metric_table, statistic_row
from tasks.statistics.misclassification import NOT_DEFINED, Corrected, Stratum, corrected_mean

STAGE = "calibrate"


def rates(truth: np.ndarray, judged: np.ndarray) -> dict[str, float]:
    """Precision, recall (sensitivity) and specificity of ``judged`` against ``truth``; nan where not defined."""
    return {"precision": _share(truth[judged]), "recall": _share(judged[truth]), "specificity": _share(~judged[~truth])}


def _share(values: np.ndarray) -> float:
    return float(values.mean()) if len(values) else NAN


def rate_rows(planted: pd.DataFrame, *, system: str, seed: int, provenance: str) -> pd.DataFrame:
    """METRICS: rates of each step (item "all"), and the share judged rightly of each kind of planted case."""
    rows: list[Row] = []
    for step, cases in planted.groupby("step", sort=True):
        scored = cases[cases["judged"].notna()]
        truth, judged = scored["truth"].to_numpy(dtype=bool), scored["judged"].to_numpy(dtype=bool)
        keys = {"condition": step, "item": "all", "unscored": len(cases) - len(scored)}
        for metric in ("precision", "recall", "specificity"):
            found = partial(_rate, truth, judged, metric)
            rows.append(statistic_row(metric, found, len(scored), seed=seed, **keys))
        for kind, group in cases.groupby("kind", sort=True):
            right = group["judged"].astype("boolean").eq(group["truth"]).dropna()
            unscored = len(group) - len(right)
            rows.append(mean_row("judged_rightly", right, seed=seed, condition=step, item=kind, unscored=unscored))
    return metric_table(rows, stage=STAGE, system=system, seed=seed, provenance=provenance)


def _rate(truth: np.ndarray, judged: np.ndarray, metric: str, drawn: np.ndarray) -> float:
    return rates(truth[drawn], judged[drawn])[metric]


_COMPACTED = frozenset({"kept by the writer", "left out by the writer"})
_CITED = frozenset({"right citation", "redundant citation", "wrong citation"})
_WRITTEN = frozenset(
    {
        *("asked for and written", "dropped by the writer", "contradicted by the writer"),
        *("descriptor written", "descriptor lost by the writer"),
    }
)
_SHORTENED = frozenset({"shortened by the writer", "detail changed by the writer"})
MATCHED = {
    ("notes against prompts", "claim_recall"): ("entailment", _WRITTEN),
    ("compact notes", "claim_recall"): ("entailment", _COMPACTED),
    ("compact notes", "claim_precision"): ("entailment", _SHORTENED),
    ("compact notes", "omission_share"): ("omissions", _COMPACTED),
    ("compact notes", "omission_count"): ("omissions", _COMPACTED),
    ("compact notes", "omission_weight"): ("omissions", _COMPACTED),
    ("cited compact notes", "citation_recall"): ("citation recall", _CITED),
    ("cited compact notes", "citation_precision"): ("citation precision", _CITED),
}
"""Step and kinds of the planted cases that are like the items of a score, by system and metric; other scores are not
corrected."""


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
    step, kinds = MATCHED.get((system, metric), ("", frozenset()))
    alike = (planted["step"] == step) & planted["kind"].isin(kinds)
    return planted[alike & planted["judged"].notna()]


def _correct(group: pd.DataFrame, cases: pd.DataFrame, seed: int) -> Corrected:
    if cases.empty:
        return NOT_DEFINED
    records = cases["document"].str.split("-").str[0]  # cases of all texts written for a record are one cluster
    judged, truth = cases["judged"].to_numpy(dtype=bool), cases["truth"].to_numpy(dtype=bool)
    positives = [Stratum(judged[truth], records[truth].to_numpy())]
    negatives = [Stratum(judged[~truth], records[~truth].to_numpy())]
    return corrected_mean(group["value"], positives, negatives, seed=seed, ceilings=group["ceiling"])


def verdict_rows(verdicts: pd.DataFrame, *, stage: str, system: str, seed: int, provenance: str) -> pd.DataFrame:
    """Metric rows: precision and recall of each kind and overall, specificity on notes without error.

    ``verdicts`` has ``check``, ``kind`` ("none" where there is no error) and ``flagged``; intervals are bootstrap
    intervals over notes.
    """
    rows: list[Row] = []
    for check, part in verdicts.groupby("check", sort=True):
        kinds = sorted(set(part["kind"]) - {"none"})
        clean = _flagged(part, ["none"])
        for item, names in [*((kind, [kind]) for kind in kinds), ("all", kinds)]:
            planted = _flagged(part, names)
            both = np.concatenate([planted, clean])
            of_planted = partial(_balanced_precision, both, len(planted))
            keys = {"condition": check, "item": item, "unscored": int(part["kind"].isin(names).sum()) - len(planted)}
            rows.append(statistic_row("recall", partial(_mean, planted), len(planted), seed=seed, **keys))
            rows.append(statistic_row("precision", of_planted, len(both), seed=seed, n=len(planted), **keys))
        lost = int((part["kind"] == "none").sum()) - len(clean)
        keys = {"condition": check, "item": "none", "unscored": lost}
        rows.append(statistic_row("specificity", partial(_mean, 1 - clean), len(clean), seed=seed, **keys))
    return metric_table(rows, stage=stage, system=system, seed=seed, provenance=provenance)


def _flagged(part: pd.DataFrame, kinds: Sequence[str]) -> np.ndarray:
    return part.loc[part["kind"].isin(kinds), "flagged"].dropna().to_numpy(dtype=float)


def _mean(values: np.ndarray, drawn: np.ndarray) -> float:
    return _share(values[drawn])


def _balanced_precision(flagged: np.ndarray, planted: int, drawn: np.ndarray) -> float:
    """Precision at equal numbers of cases with and without the error, the first ``planted`` having it."""
    hits, alarms = _share(flagged[drawn[drawn < planted]]), _share(flagged[drawn[drawn >= planted]])
    return hits / (hits + alarms) if hits + alarms > 0 else NAN
