"""From card to score: a system's mean scores corrected for the judge's error rates on the cases of its card.

Rogan and Gladen's estimate (1978) with Jeffreys posteriors of the rates (`tasks.statistics.misclassification`). It
assumes that the judge errs on the scored texts as it does on the cases, kinds mixed as on the card. Rows "any mix of
kinds" and "rates off by 0.05" show what happens where it does not.
"""

from collections.abc import Mapping, Sequence
from itertools import product

import numpy as np
import pandas as pd

from tasks.audit.card import ALL, ENOUGH
from tasks.audit.trials import ASKED
from tasks.measures.described import METRICS
from tasks.statistics.intervals import Interval, mean_interval
from tasks.statistics.metric_rows import Row, metric_row, metric_table
from tasks.statistics.misclassification import MIN_INFORMEDNESS, MIXED, SHIFTS, corrected_mean
from tasks.statistics.prediction_powered import powered_share

TASKS: Mapping[str, str] = {name: metric.task for name, metric in METRICS.items() if metric.task is not None}
"""Task of the card whose cases are judged as the score's items are; other scores are not corrected."""
TRUE_SHARES = (0.5, 0.8, 0.95)
"""Shares of yes in the texts to be scored, for which labels are planned."""
LABELS = (25, 50, 100, 200, 400, 800)
"""Numbers of labels that a plan shows."""
_STUDIES = 40


def corrected_rows(
    scores: pd.DataFrame,
    metrics: pd.DataFrame,
    verdicts: pd.DataFrame,
    *,
    seed: int,
    provenance: str,
    other_sources: str | None = None,
) -> tuple[pd.DataFrame, list[str]]:
    """METRICS named ``..._corrected`` of whole texts, and why a score is not corrected.

    The row "all, any mix of kinds" has the range over all mixes of the kinds of cases that the texts may be like. Rows
    "rates off by 0.05" are the curve of the score over shifts of the judge's rates. None is wider than 1.

    ``scores``: DOCUMENT_SCORES. ``metrics``: their METRICS, from which the number of unscored texts is taken.
    ``verdicts``: the VERDICTS of one judge. ``other_sources``: why scores by the source are not corrected, whose texts
    are of another kind than those of the card.
    """
    cases = verdicts[(verdicts["condition"] == "") & verdicts["value"].notna()]
    keys = ["stage", "system", "condition", "item", "metric"]
    missing = metrics.set_index(keys)["unscored"]
    rows: list[Row] = []
    refused: dict[str, str] = {}
    whole = scores[(scores["item"] == ALL) & scores["metric"].isin(TASKS)]
    for key, group in whole.groupby(keys, sort=True):
        stage, system, condition, item, metric = map(str, key)
        values, own = group["value"].to_numpy(dtype=float), cases[cases["metric"] == TASKS[metric]]
        if reason := (other_sources if ASKED[TASKS[metric]].by_source else None) or _unfit(own):
            refused[metric] = reason
            continue
        value, *found = _corrected(values, own, seed=seed)
        mixed = _mixed(values, own, seed=seed)
        if not (found[1] - found[0] <= 1 and mixed[1] - mixed[0] <= 1):
            refused[metric] = "its interval is wider than 1 for some mix of the card's kinds of cases"
            continue
        ends = {item: tuple(found), f"{item}{MIXED}": mixed}
        for shift in SHIFTS:
            ends[f"{item}, rates off by {shift:g}"] = _corrected(values, own, seed=seed, shift=shift)[1:]
        known: Row = {"stage": stage, "system": system, "condition": condition, "unscored": int(missing.get(key, 0))}
        rows += [
            {**metric_row(f"{metric}_corrected", value, low, high, n=len(values), **known), "item": about}
            for about, (low, high) in ends.items()
            if high - low <= 1
        ]
    table = metric_table(rows, seed=seed, provenance=provenance)
    return table, [f"{metric} is not corrected: {reason}" for metric, reason in sorted(refused.items())]


def _unfit(cases: pd.DataFrame) -> str | None:
    """Why the cases of a task give no correction."""
    truth, judged = cases["truth"].to_numpy(dtype=bool), cases["value"].to_numpy(dtype=bool)
    if not truth.any() or truth.all():
        return f"the card has verdicts on {truth.sum()} cases with the answer yes and {(~truth).sum()} with no"
    informedness = float(judged[truth].mean() - judged[~truth].mean())
    if informedness <= MIN_INFORMEDNESS:
        least = 1 + MIN_INFORMEDNESS
        return f"sensitivity + specificity is {1 + informedness:.2f}; up to {least:g} a verdict says too little"
    return None


def _corrected(values: np.ndarray, cases: pd.DataFrame, *, seed: int, shift: float = 0.0) -> Interval:
    return corrected_mean(values, cases["truth"], cases["value"], cases["document"], seed=seed, shift=shift)


def _mixed(values: np.ndarray, cases: pd.DataFrame, *, seed: int) -> tuple[float, float]:
    """Ends of the intervals of the corrected mean over all mixes of kinds; nan where the judge may be uninformative.

    The corrected mean is monotonic in either rate: texts of the kinds that are judged best and worst have its ends.
    Kinds with fewer than `ENOUGH` cases are left out where there are others.
    """
    sides = []
    for truth in (True, False):
        side = cases[cases["truth"] == truth]
        right = side["value"].eq(truth).groupby(side["kind"]).agg(["mean", "size"])
        rates = right.loc[right["size"] >= ENOUGH, "mean"].astype(float)
        ends = dict.fromkeys([rates.idxmin(), rates.idxmax()]) if len(rates) else {}
        sides.append([side[side["kind"] == kind] for kind in ends] or [side])
    found = [_corrected(values, pd.concat(pair), seed=seed) for pair in product(*sides)]
    return float(np.min([low for _, low, _ in found])), float(np.max([high for *_, high in found]))


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
            _, low, high = powered_share(truth[:labels], judged[:labels], judged[labels:], seed=study)
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
    for share in TRUE_SHARES:
        widths = [label_half_width(None, share, items, size, seed=seed) for size in sizes]
        lines.append(f"  labels alone, {100 * share:g}% yes: {_points(sizes, widths)}")
    for (judge, task), rows in rates.groupby(["system", "condition"], sort=True):
        found = rows.dropna(subset="low").set_index("metric")
        if len(found) < 2 or found["low"].sum() <= 1:
            lines.append(f"{judge}, {task}: saves no label, as a coin is no worse at the low ends of its rates")
            continue
        cases = f"{found['n']['sensitivity']} and {found['n']['specificity']} cases"
        for share in TRUE_SHARES:
            rate = found["low"]["sensitivity"], found["low"]["specificity"]
            widths = [label_half_width(rate, share, items, size, seed=seed) for size in sizes]
            lines.append(f"{judge}, {task} ({cases}), {100 * share:g}% yes: {_points(sizes, widths)}")
    return lines


def _points(sizes: Sequence[int], widths: Sequence[float]) -> str:
    return ", ".join(f"{size} labels {100 * width:.1f}" for size, width in zip(sizes, widths, strict=True)) + " points"
