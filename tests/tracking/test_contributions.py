"""Differences of lineages: standard errors, contributions and p values against formulas of textbooks."""

from itertools import product

import numpy as np
import pandas as pd
import pytest

from tasks.statistics.sign_flips import Differences, adjusted_p
from tasks.tracking.comparison import compare_systems
from tasks.tracking.measures import Measure
from tasks.tracking.pairing import PairedMeasure, differences_of, pair


def scores(values: np.ndarray) -> Measure:
    """A mean of scores (n, seeds)."""
    return Measure(("s", "a", "c", "all", "m"), np.arange(len(values)), values.astype(np.float32)[:, :, None, None])


def paired(a: np.ndarray, b: np.ndarray) -> PairedMeasure:
    return pair(scores(a), scores(b))


DRAW = np.random.default_rng(4)
VALUES = DRAW.normal(0.3, 1, size=12).round(2)


def differences(values: np.ndarray) -> Differences:
    return differences_of(paired(np.zeros((len(values), 1)), values[:, None]))


def test_seeds_of_both_lineages_add_the_variance_of_their_means() -> None:
    a, b = np.zeros((4, 2)), np.tile([0.0, 1.0, 2.0], (4, 1))
    found = differences_of(paired(a, b))
    assert found.values.tolist() == [1.0] * 4
    assert (found.added_variance, found.added_freedom) == pytest.approx(
        (1 / 3, 1 + 2)
    )  # of three seeds; a's do not vary
    both = differences_of(paired(b[:, :2], b))
    assert (both.added_variance, both.added_freedom) == pytest.approx((0.5 / 2 + 1 / 3, 1 + 2))


def test_redraws_add_twice_their_variance_with_satterthwaites_degrees_of_freedom() -> None:
    a = np.arange(8.0)[:, None]
    redraws = [scores(a + shift) for shift in (0.1, 0.3, 0.5)]
    found = differences_of(pair(scores(a), scores(a + 1), redraws))
    of_redraws = 2 * np.var([0.0, 0.1, 0.3, 0.5], ddof=1)  # the lineage itself is one of the draws
    assert (found.added_variance, found.added_freedom) == pytest.approx((of_redraws, 3), rel=1e-4)
    seeds = np.arange(8.0)[:, None] + [0.0, 1.0]
    both = differences_of(pair(scores(seeds), scores(seeds), redraws))
    of_seeds = 2 * 0.5 / 2
    assert both.added_variance == pytest.approx(of_redraws + of_seeds, rel=1e-4)
    expected = (of_redraws + of_seeds) ** 2 / (of_redraws**2 / 3 + of_seeds**2 / 2)
    assert both.added_freedom == pytest.approx(expected, rel=1e-4)


def test_noise_of_single_seeds_is_left_out_of_independent_samples_too() -> None:
    def share(a: np.ndarray, b: np.ndarray) -> float:
        return differences_of(PairedMeasure(scores(a), scores(b), independent=True)).share

    noise = np.random.default_rng(1).normal(size=(2, 40, 4))
    records = np.tile(np.arange(40.0)[:, None], 4)
    assert share(*noise) < 0.2
    assert share(records + noise[0] / 100, records + noise[1] / 100) == pytest.approx(1, abs=1e-3)
    assert share(np.ones((5, 2)), np.zeros((6, 2))) == 1, "where nothing varies"


def student(values: np.ndarray, signs: np.ndarray) -> np.ndarray:
    """|t| of each row of signs."""
    flipped = signs * values
    return np.abs(flipped.mean(axis=1)) / (flipped.std(axis=1, ddof=1) / np.sqrt(len(values)))


def test_p_values_are_those_of_the_step_down_maximum_over_all_flips() -> None:
    other = DRAW.normal(0.9, 1, size=12).round(2)
    signs = np.array(list(product([-1, 1], repeat=12)))
    flips = np.stack([student(values, signs) for values in (VALUES, other)])
    observed = flips[:, -1]
    larger, smaller = np.argsort(-observed)
    first = (flips.max(axis=0) >= observed[larger] - 1e-9).mean()
    second = max(first, (flips[smaller] >= observed[smaller] - 1e-9).mean())
    found = adjusted_p([differences(VALUES), differences(other)], np.random.default_rng(1), 20_000)
    assert (found[larger], found[smaller]) == pytest.approx((first, second), abs=0.01)


def test_every_two_systems_with_scores_are_compared_on_the_documents_of_both() -> None:
    draw = np.random.default_rng(3)
    base = draw.random(20)
    rows = [
        (n, system, "claim_recall", value)
        for system, shift in (("a", 0.0), ("b", 0.4), ("c", 0.0))
        for n, value in enumerate(base + shift)
        if not (system == "b" and n < 2)
    ]
    rows += [(n, "d", "rouge1_p", 0.5) for n in range(20)]  # not among the compared metrics
    frame = pd.DataFrame(rows, columns=["record", "system", "metric", "value"])
    frame = frame.assign(document=frame["record"].astype("str"), stage="doclens", condition="c", item="all")
    lacking = frame.drop_duplicates(["system", "stage", "condition", "item", "metric"]).assign(unscored=0)
    lacking.loc[lacking["system"] == "b", "unscored"] = 2
    found = compare_systems(frame, {"b": np.array([0, 1])}, lacking, ["a", "b", "c", "d"], seed=1)
    table = found[found["metric"] == "claim_recall"].set_index(["system_a", "system_b"])
    assert set(table.index) == {("a", "b"), ("a", "c"), ("b", "c")}
    assert table.loc[("a", "b"), ["n", "failed_a", "failed_b", "changed"]].tolist() == [18, 0, 2, True]
    assert table.loc[("a", "b"), "difference"] == pytest.approx(0.4, abs=1e-6)
    assert table.loc[("a", "c"), ["n", "difference", "changed"]].tolist() == [20, 0, False]
    assert len(compare_systems(frame[frame["system"] == "d"], {}, lacking, ["d", "a"], seed=1)) == 0


def test_the_share_free_of_the_noise_of_seeds_by_hand() -> None:
    """Seeds (1, 2, 3, 4) and (3, 2, 3, 6) have covariance 1.25 over records; the mean of both has variance 1.5."""
    of_b = np.array([[1.0, 3.0], [2.0, 2.0], [3.0, 3.0], [4.0, 6.0]])
    assert differences_of(paired(np.zeros((4, 1)), of_b)).share == pytest.approx(1.25 / 1.5)
    assert differences_of(paired(np.zeros((4, 1)), of_b[:, :1])).share == 1
