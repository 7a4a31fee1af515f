"""From card to score: a system's mean scores corrected for the judge's error rates on the cases of its card.

Rogan and Gladen's estimate (1978) with Jeffreys posteriors of the rates (`tasks.statistics.misclassification`). It
assumes that the judge errs on the scored texts as it does on the cases, kinds mixed as on the card. Rows "rates off by
0.05" show what happens where it does not.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
import pandas as pd

from tasks.audit.card import ALL
from tasks.measures.described import METRICS
from tasks.statistics.intervals import mean_interval
from tasks.statistics.metric_rows import Row, metric_row, metric_table
from tasks.statistics.misclassification import (
    MIN_INFORMEDNESS,
    SHIFTS,
    TURNS,
    Corrected,
    corrected_mean,
    turning_shift,
)
from tasks.statistics.prediction_powered import powered_share

TASKS: Mapping[str, str] = {name: metric.task for name, metric in METRICS.items() if metric.task is not None}
"""Task of the card whose cases are judged as the score's items are; other scores are not corrected."""
TRUE_SHARES = (0.5, 0.8, 0.95)
"""Shares of yes in the texts to be scored, for which labels are planned."""
LABELS = (25, 50, 100, 200, 400, 800)
"""Numbers of labels that a plan shows."""
_STUDIES = 40


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


def label_half_width(rates: tuple[float, float] | None, share: float, items: int, labels: int, *, seed: int) -> float:
    """Mean half width of the 95% interval of a ``share`` of yes, from ``labels`` of people and verdicts on all items.

    ``rates``: sensitivity and specificity of the judge; None for labels alone. The estimators are those that such
    labels are evaluated with (`powered_share`, `mean_interval`), on `_STUDIES` drawn sets of independent items.
    """
    widths = []
    for study in range(_STUDIES):
        rng = np.random.default_rng([seed, study, items, labels])
        truth = rng.random(items) < share
        _, low, high = mean_interval(truth[:labels])
        if rates is not None:
            judged = np.where(truth, rng.random(items) < rates[0], rng.random(items) >= rates[1])
            found = powered_share(truth[:labels], judged[:labels], judged[labels:], seed=study)
            low, high = found.low, found.high
        widths.append((high - low) / 2)
    return float(np.mean(widths))


def label_plans(card: pd.DataFrame, items: int, *, seed: int) -> list[str]:
    """A line by judge, task and true share: half widths by number of labels, without the judge and with it.

    The judge's rates are drawn at the low ends of their intervals: those of a few cases do not save labels.
    """
    sizes = [size for size in LABELS if size <= items]
    lines = [f"half width of the 95% interval of a share of yes among {items:,} items, by labels of people"]
    known = card[(card["item"] == ALL) & card["condition"].isin(set(TASKS.values()))]
    rates = known[known["metric"].isin(["sensitivity", "specificity"])]
    alone = {share: [label_half_width(None, share, items, size, seed=seed) for size in sizes] for share in TRUE_SHARES}
    for share in TRUE_SHARES:
        lines.append(f"  labels alone, {100 * share:g}% yes: {_points(sizes, alone[share])}")
    for (judge, task), rows in rates.groupby(["system", "condition"], sort=True):
        found = rows.dropna(subset="low").set_index("metric")
        if len(found) < 2 or found["low"].sum() <= 1:
            lines.append(f"{judge}, {task}: saves no label, as its rates may be no better than a coin's")
            continue
        cases = f"{found['n']['sensitivity']} and {found['n']['specificity']} cases"
        for share in TRUE_SHARES:
            rate = found["low"]["sensitivity"], found["low"]["specificity"]
            widths = [label_half_width(rate, share, items, size, seed=seed) for size in sizes]
            lines.append(f"{judge}, {task} ({cases}), {100 * share:g}% yes: {_points(sizes, widths)}")
    return lines


def _points(sizes: Sequence[int], widths: Sequence[float]) -> str:
    return ", ".join(f"{size} labels {100 * width:.1f}" for size, width in zip(sizes, widths, strict=True)) + " points"
