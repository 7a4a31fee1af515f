"""Paired tests between models on the same test records: approximate randomisation (Noreen 1989; Yeh 2000)."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from tasks.baselines.classification_metrics import metric_of
from tasks.baselines.scoring import STAGE, Scored, draw_counts, models_in, seed_mean
from tasks.baselines.targets import Target
from tasks.statistics.bootstrap import LEVEL
from tasks.statistics.metric_rows import Row, metric_row, metric_table

SHUFFLE_STREAM = 44


def compare(ours: Scored, other: Scored, *, seed: int, draws: int, bins: int) -> dict[str, float]:
    """Difference in F1 (``ours`` minus ``other``, each its mean over seeds) with bootstrap interval and p-value.

    The p-value is the share of random swaps of the two models' predictions, record by record, that give at least as
    large a difference; all seeds of a record are swapped together.
    """
    our_terms, other_terms = ours.terms(bins), other.terms(bins)
    n, values = len(ours.labels), len(ours.target.values)
    whole, drawn = np.ones((1, n)), draw_counts(n, seed=seed, draws=draws)
    observed = float((seed_mean(our_terms, "f1", values, whole) - seed_mean(other_terms, "f1", values, whole))[0])
    spread = seed_mean(our_terms, "f1", values, drawn) - seed_mean(other_terms, "f1", values, drawn)
    keep = np.random.default_rng([seed, SHUFFLE_STREAM]).integers(0, 2, size=(draws, n)).astype(float)
    shuffled = np.zeros(draws)
    for sign, first, second in ((1, our_terms, other_terms), (-1, other_terms, our_terms)):
        kept = [t.sums(keep) for t in first]
        taken = [t.sums(1 - keep) for t in second]
        # The shorter list of seeds is repeated.
        for number in range(max(len(kept), len(taken))):
            a, b = kept[number % len(kept)], taken[number % len(taken)]
            mixed = {name: a[name] + b[name] for name in a}
            shuffled += sign * metric_of("f1", mixed, values) / max(len(kept), len(taken))
    low, high = np.quantile(spread, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    p = (1 + np.count_nonzero(np.abs(shuffled) >= abs(observed) - 1e-12)) / (1 + draws)
    return {"difference": observed, "low": float(low), "high": float(high), "p": float(p)}


def holm(p_values: Sequence[float]) -> list[float]:
    """P-values adjusted for their number (Holm 1979)."""
    order = np.argsort(p_values, kind="stable")
    raised = np.array(p_values)[order] * (len(p_values) - np.arange(len(p_values)))
    adjusted = np.empty(len(p_values))
    adjusted[order] = np.minimum(np.maximum.accumulate(raised), 1)
    return [float(p) for p in adjusted]


def paired_rows(
    predictions: pd.DataFrame,
    pairs: Sequence[tuple[tuple[str, str], tuple[str, str]]],
    targets: Sequence[Target],
    *,
    seed: int,
    draws: int,
    bins: int,
    provenance: str,
) -> pd.DataFrame:
    """METRICS rows of the comparisons ``pairs`` of (system, condition) for each symptom.

    Metrics: ``f1_difference`` with its interval, ``p_value``, and ``p_value_holm`` over all comparisons of the table.
    """
    models = {(m.system, m.condition, m.target.symptom): m for m in models_in(predictions, targets)}
    found = []
    for ours, other in pairs:
        for target in targets:
            result = compare(
                models[*ours, target.symptom], models[*other, target.symptom], seed=seed, draws=draws, bins=bins
            )
            found.append((ours, other, target, result))
    adjusted = holm([result["p"] for *_, result in found])
    rows = []
    for (ours, other, target, result), p_holm in zip(found, adjusted, strict=True):
        keys: Row = {
            "system": ours[0],
            "condition": f"{ours[1]} against {other[0]} {other[1]}",
            "item": target.symptom,
            "n": len(models[*ours, target.symptom].labels),
        }
        rows.append(metric_row("f1_difference", result["difference"], result["low"], result["high"], **keys))
        rows.append(metric_row("p_value", result["p"], **keys))
        rows.append(metric_row("p_value_holm", p_holm, **keys))
    return metric_table(rows, stage=STAGE, seed=f"bootstrap {seed}", provenance=provenance)
