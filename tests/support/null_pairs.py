"""Families of 20 measures of two lineages that differ only by chance, or by a shift."""

import numpy as np

from tasks.tracking.comparison import compare
from tasks.tracking.measures import Measure
from tasks.tracking.pairing import PairedMeasure, pair

MEASURES = 20
SIZES = (8, 12, 20, 30, 100)
KINDS = ("normal", "heavy tails", "skewed", "binary", "mixed")


def null_pairs(draw: np.random.Generator, kind: str, n: int, shift: float = 0.0) -> list[PairedMeasure]:
    """20 measures of two lineages on n records; lineage B is shifted by ``shift``.

    ``mixed``: normal, heavy-tailed, binary and tied scores in turn, with n, n - 1, ... n - 4 records.
    """
    a, b = (_scores(draw, kind, n) for _ in range(2))
    sizes = [n - place % 5 if kind == "mixed" and n > 12 else n for place in range(MEASURES)]
    return [pair(_measure(m, a[m, :size]), _measure(m, b[m, :size] + shift)) for m, size in enumerate(sizes)]


def alarm_rate(kind: str, n: int, *, pairs: int, seed: int, draws: int = 400) -> float:
    """Share of null pairs with any alarm."""
    draw = np.random.default_rng([seed, n])
    alarms = [compare(null_pairs(draw, kind, n), seed=number, draws=draws)["changed"].any() for number in range(pairs)]
    return float(np.mean(alarms))


def _scores(draw: np.random.Generator, kind: str, n: int) -> np.ndarray:
    size = (MEASURES, n)
    drawn = {
        "normal": draw.normal(size=size),
        "heavy tails": draw.standard_t(2, size=size),
        "skewed": draw.lognormal(sigma=1.5, size=size),
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
