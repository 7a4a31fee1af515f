"""Families of 20 measures of two lineages that differ only by chance, or by a shift."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from tasks.statistics.sign_flips import DRAWS
from tasks.tracking.comparison import compare_all, compare_systems
from tasks.tracking.measures import Measure
from tasks.tracking.pairing import PairedMeasure, pair

MEASURES = 20
EVALUATIONS = ("evaluation", "evaluation, failures")
UNEQUAL = ("skewed differences", "exponential differences", "failures")
"""Lineages with equal means whose scores are not exchangeable."""


def compare(pairs: Sequence[PairedMeasure], *, seed: int, draws: int = DRAWS) -> pd.DataFrame:
    """The comparison of one lineage with another."""
    return compare_all([pairs], seed=seed, draws=draws)[0]


def null_pairs(draw: np.random.Generator, kind: str, n: int, shift: float = 0.0) -> list[PairedMeasure]:
    """20 measures of two lineages on n records; lineage B is shifted by ``shift``.

    ``mixed``: normal, heavy-tailed, binary and tied scores in turn, with n, n - 1, ... n - 4 records.
    """
    if kind.endswith("differences"):
        size = (MEASURES, n)
        skewed = draw.lognormal(size=size) - np.exp(0.5)
        a, b = np.zeros(size), skewed if kind.startswith("skewed") else draw.exponential(size=size) - 1
    else:
        a, b = (_scores(draw, kind, n) for _ in range(2))
    sizes = [n - place % 5 if kind == "mixed" and n > 12 else n for place in range(MEASURES)]
    return [pair(_measure(m, a[m, :size]), _measure(m, b[m, :size] + shift)) for m, size in enumerate(sizes)]


def failing_pairs(draw: np.random.Generator, n: int) -> list[PairedMeasure]:
    """One measure of two equally good models on n records; the second fails on a quarter of its own errors."""
    a, b = ((draw.random(n) < 0.8).astype(np.float32) for _ in range(2))
    failed = (b == 0) & (draw.random(n) < 0.25)
    records = np.arange(n)
    measured = _measure(0, b)
    other = Measure(measured.key, records[~failed], measured.parts[~failed], failed=records[failed])
    first = _measure(0, a)
    return [pair(Measure(first.key, records, first.parts, failed=records[:0]), other)]


_METRICS = {"claim_recall": 8, "claim_precision": 8, "citation_recall": 8, "qa_multiple_choice": 1, "omission_count": 5}
"""Metrics of an evaluation, and of how many items each is a share or a count."""


def null_evaluation(draw: np.random.Generator, n: int, *, failing: bool, seed: int) -> pd.DataFrame:
    """Comparisons of three equally good systems on n documents, some of which are harder than others.

    ``failing``: the third system fails on a quarter of its answers to questions that are wrong.
    """
    easy, rows, failed = draw.beta(8, 2, n), [], np.zeros(n, dtype=bool)
    for system in "abc":
        for metric, items in _METRICS.items():
            values = draw.binomial(items, easy) / (1 if metric.endswith("count") else items)
            kept = np.ones(n, dtype=bool)
            if failing and system == "c" and metric.startswith("qa"):
                failed = (values == 0) & (draw.random(n) < 0.25)
                kept = ~failed
            rows.append(
                pd.DataFrame({"record": np.arange(n), "value": values})[kept].assign(system=system, metric=metric)
            )
    scores = pd.concat(rows, ignore_index=True).assign(stage="s", condition="c", item="all")
    scores = scores.assign(document=scores["record"].astype("str"))
    keys = ["system", "stage", "condition", "item", "metric"]
    metrics = (n - scores.groupby(keys).size()).rename("unscored").reset_index()
    return compare_systems(scores, {"c": np.flatnonzero(failed)}, metrics, list("abc"), seed=seed)


def alarm_rate(kind: str, n: int, *, pairs: int, seed: int, draws: int = 400) -> float:
    """Share of null pairs with any alarm."""
    draw = np.random.default_rng([seed, n])
    alarms = []
    for number in range(pairs):
        if kind in EVALUATIONS:
            found = null_evaluation(draw, n, failing=kind.endswith("failures"), seed=number)
        else:
            family = failing_pairs(draw, n) if kind == "failures" else null_pairs(draw, kind, n)
            found = compare(family, seed=number, draws=draws)
        alarms.append(found.loc[~found["metric"].str.startswith("unscored"), "changed"].any())
    return float(np.mean(alarms))


def _scores(draw: np.random.Generator, kind: str, n: int) -> np.ndarray:
    size = (MEASURES, n)
    drawn = {
        "normal": draw.normal(size=size),
        "heavy tails": draw.standard_t(2, size=size),
        "binary": (draw.random(size) < 0.7).astype(float),
        "tied": np.round(4 * draw.random(size)) / 4,
    }
    if kind != "mixed":
        return drawn[kind]
    turns = ("normal", "heavy tails", "binary", "tied")
    return np.array([drawn[turns[place % 4]][place] for place in range(MEASURES)])


def _measure(place: int, values: np.ndarray) -> Measure:
    parts = values.astype(np.float32)[:, None, None, None]
    return Measure(("stage", "system", "condition", str(place), "score"), np.arange(len(values)), parts)
