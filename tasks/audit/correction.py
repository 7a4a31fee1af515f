"""From card to score: a system's mean scores corrected for the judge's error rates on the cases of its card.

Rogan and Gladen's estimate (1978) with Jeffreys posteriors of the rates (`tasks.statistics.misclassification`). It
assumes that the judge errs on the scored texts as it does on the cases, kinds mixed as on the card. Rows "rates off by
0.05" show what happens where it does not.
"""

import math
from collections.abc import Mapping
from itertools import combinations

import numpy as np
import pandas as pd

from tasks.audit.card import ALL
from tasks.statistics.metric_rows import Row, metric_row, metric_table
from tasks.statistics.misclassification import (
    MIN_INFORMEDNESS,
    SHIFTS,
    TURNS,
    Corrected,
    corrected_mean,
    turning_shift,
)

TASKS: Mapping[str, str] = {
    "claim_recall": "claims",
    "claim_precision": "claims",
    "claims_supported": "grounding",
    "omission_share": "omissions",
    "citation_recall": "citation recall",
    "citation_precision": "citation precision",
}
"""Task of the card whose cases are judged as the score's items are; other scores are not corrected."""
TRUE_SHARES = (0.5, 0.8, 0.95)
"""Shares of yes in the texts to be scored, for which labels are planned."""
_NORMAL = 1.959964


def corrected_rows(
    scores: pd.DataFrame, metrics: pd.DataFrame, verdicts: pd.DataFrame, *, seed: int, provenance: str
) -> tuple[pd.DataFrame, list[str]]:
    """METRICS named ``..._corrected`` of whole texts, and why a score is not corrected.

    Rows "rates off by 0.05" are the curve of the score over shifts of the judge's rates; rows ``..._turns_over_at`` of
    two systems have the shift at which their order may be the other way round (`turning_shift`).

    ``scores``: DOCUMENT_SCORES. ``metrics``: their METRICS, from which the number of unscored texts is taken.
    ``verdicts``: the VERDICTS of one judge.
    """
    cases = verdicts[(verdicts["factor"] == "") & verdicts["judged"].notna()]
    keys = ["stage", "system", "condition", "item", "metric"]
    missing = metrics.set_index(keys)["unscored"]
    rows: list[Row] = []
    refused: dict[str, str] = {}
    whole = scores[(scores["item"] == ALL) & scores["metric"].isin(TASKS)]
    for key, group in whole.groupby(keys, sort=True):
        stage, system, condition, item, metric = map(str, key)
        own = cases[cases["task"] == TASKS[metric]]
        if reason := _unfit(own):
            refused[metric] = reason
            continue
        values = group["value"].to_numpy(dtype=float)
        known: Row = {"stage": stage, "system": system, "condition": condition, "unscored": int(missing.get(key, 0))}
        for shift in (0.0, *SHIFTS):
            found = _corrected(values, own, seed=seed, shift=shift)
            about = item if not shift else f"{item}, rates off by {shift:g}"
            found_row = metric_row(f"{metric}_corrected", found.value, found.low, found.high, n=len(values), **known)
            rows.append({**found_row, "item": about})
    table = metric_table([*rows, *_turn_rows(whole, cases)], seed=seed, provenance=provenance)
    return table, [f"{metric} is not corrected: {reason}" for metric, reason in sorted(refused.items())]


def _unfit(cases: pd.DataFrame) -> str | None:
    """Why the cases of a task give no correction."""
    truth, judged = cases["truth"].to_numpy(dtype=bool), cases["judged"].to_numpy(dtype=bool)
    if not truth.any() or truth.all():
        return f"the card has {int(truth.sum())} cases with the answer yes and {int((~truth).sum())} with no"
    informedness = float(judged[truth].mean() - judged[~truth].mean())
    if informedness <= MIN_INFORMEDNESS:
        return f"sensitivity + specificity is {1 + informedness:.2f}; at or below 1 a verdict says nothing"
    return None


def _corrected(values: np.ndarray, cases: pd.DataFrame, *, seed: int, shift: float) -> Corrected:
    known = (cases["truth"].to_numpy(dtype=bool), cases["judged"].to_numpy(dtype=bool))
    return corrected_mean(values, *known, cases["document"].to_numpy(), seed=seed, shift=shift)


def _turn_rows(whole: pd.DataFrame, cases: pd.DataFrame) -> list[Row]:
    """For every two systems, the shift of the judge's rates at which the order of their corrected scores may turn."""
    rows: list[Row] = []
    about = ["stage", "condition", "item", "metric"]
    for key, group in whole.groupby(about, sort=True):
        *named, metric = key
        own = cases[cases["task"] == TASKS[str(metric)]]
        if _unfit(own):
            continue
        truth, judged = own["truth"].to_numpy(dtype=bool), own["judged"].to_numpy(dtype=bool)
        rates = float(judged[truth].mean()), float((~judged[~truth]).mean())
        means = group.groupby("system", sort=True)["value"].agg(["mean", "size"])
        for (a, first), (b, second) in combinations(means.iterrows(), 2):
            value, n = turning_shift(first["mean"], second["mean"], *rates), int(min(first["size"], second["size"]))
            place = dict(zip(about, named, strict=False))
            rows.append(metric_row(f"{metric}{TURNS}", value, n=n, system=f"{a} against {b}", **place))
    return rows


def labels_needed(sensitivity: float, specificity: float, share: float, half_width: float) -> tuple[int, int]:
    """Labels of people for an interval of a ``share`` of yes with that half width: without a judge, and with one.

    Labels are of a random sample of the items. With a judge, all items have its verdict, and the share is estimated
    within each verdict (post-stratification, the prediction-powered estimate of a share): only the variance that is
    left within verdicts counts. Normal intervals of many items; labels that share a text count for less.
    """
    said_yes = share * sensitivity + (1 - share) * (1 - specificity)
    left = 0.0
    for said, yes in ((said_yes, share * sensitivity), (1 - said_yes, share * (1 - sensitivity))):
        left += yes * (said - yes) / said if said > 0 else 0.0
    per_label = (_NORMAL / half_width) ** 2
    return math.ceil(per_label * share * (1 - share)), math.ceil(per_label * left)


def label_plans(card: pd.DataFrame, half_width: float) -> list[str]:
    """A line by judge, task and true share: the labels that it takes without the judge and with it.

    With it, they are as many as at the low ends of the intervals of sensitivity and specificity: the rates of a few
    cases do not save labels. Those at the rates themselves follow, unless the card has no error.
    """
    lines = []
    known = card[(card["item"] == ALL) & card["condition"].isin(set(TASKS.values()))]
    rates = known[known["metric"].isin(["sensitivity", "specificity"])]
    texts_of = known[known["metric"] == "texts"].set_index(["system", "condition"])["value"]
    for (judge, task), rows in rates.groupby(["system", "condition"], sort=True):
        found = rows.dropna(subset="value").set_index("metric")
        if len(found) < 2:
            lines.append(f"{judge}, {task}: no plan, as its sensitivity or its specificity is not known")
            continue
        values, lows = ([found[name]["sensitivity"], found[name]["specificity"]] for name in ("value", "low"))
        texts = int(texts_of[judge, task])
        cases = f"{found['n']['sensitivity']} and {found['n']['specificity']}"
        for share in TRUE_SHARES:
            alone, at_rates = labels_needed(values[0], values[1], share, half_width)
            known_better = not np.isnan(lows).any() and sum(lows) > 1  # than a coin
            most = labels_needed(lows[0], lows[1], share, half_width)[1] if known_better else alone
            less = f", {at_rates:,} at the rates" if at_rates and most > at_rates else ""
            lines.append(
                f"{judge}, {task}: a share of {100 * share:g}% to within {100 * half_width:g} points takes {alone:,} "
                f"labels; with its verdicts on all items {most:,} at the low ends of its rates{less} ({cases} cases, "
                f"{texts} texts)"
            )
    return lines
