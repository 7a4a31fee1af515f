"""Comparisons of lineages are those of earlier versions: the signs that they draw depend on the seed."""

import numpy as np
import pandas as pd

from tasks.tracking.comparison import compare
from tasks.tracking.measures import Measure
from tasks.tracking.pairing import PairedMeasure, pair
from tests.support.recorded import assert_as_recorded

DRAW = np.random.default_rng(6)


def scores(item: str, values: np.ndarray, failed: tuple[int, ...] = ()) -> Measure:
    kept = np.setdiff1d(np.arange(len(values)), failed)
    parts = values[kept].reshape(len(kept), -1)[:, :, None, None].astype(np.float32)
    key = ("doclens", "s", "c", item, "claim_recall")
    return Measure(key, kept, parts, np.array([], dtype=str), np.array(failed, dtype=np.int64))


def hits(item: str, shift: float) -> Measure:
    label, said = DRAW.random((2, 25, 3)) < np.array([0.5, 0.5 + shift])[:, None, None]
    parts = np.stack([label & said, ~label & said, label & ~said], axis=-1)[:, :, None, :].astype(np.float32)
    return Measure(("baselines", "s", "c", item, "f1"), np.arange(25), parts)


def pairs() -> list[PairedMeasure]:
    first = DRAW.random(25)
    redraws = [scores("redrawn", first + 0.1 * DRAW.normal(size=25)) for _ in range(3)]
    return [
        pair(scores("same", first), scores("same", first + 0.02 * DRAW.normal(size=25))),
        pair(scores("higher", first), scores("higher", first + 0.3, failed=(1, 2, 3))),
        pair(scores("few", first[:6]), scores("few", first[:6] + 0.3)),
        pair(scores("redrawn", first), scores("redrawn", first + 0.1), redraws),
        pair(scores("seeds", DRAW.random((25, 2))), scores("seeds", DRAW.random((25, 3)))),
        pair(hits("cough", 0.0), hits("cough", 0.2)),
    ]


def test_a_family_of_measures() -> None:
    table: pd.DataFrame = compare(pairs(), seed=7, draws=300)
    assert_as_recorded("comparison", table.drop(columns=["stage", "system", "condition"]))
