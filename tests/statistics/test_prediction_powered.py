"""Prediction-powered means: agreement with the published package, and coverage with a biased judge."""

import numpy as np
import pytest

from tasks.statistics.prediction_powered import powered_mean


def drawn(seed: int, n: int, more: int, *, right: float = 0.85) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Labels and verdicts of ``n`` items, and ``more`` verdicts whose share of ones is 0.55."""
    random = np.random.default_rng(seed)
    labels = random.integers(0, 2, n).astype(float)
    judged = np.where(random.random(n) < right, labels, 1 - labels)
    return labels, judged, (random.random(more) < 0.55).astype(float)


@pytest.mark.parametrize(
    ("weight", "value", "low", "high"),
    [(1.0, 0.45166667, 0.33765644, 0.56567689), (None, 0.50280580, 0.40369724, 0.60191436)],
)
def test_numbers_are_those_of_ppi_python(weight: float | None, value: float, low: float, high: float) -> None:
    # ppi_py 0.2.3: ppi_mean_pointestimate and ppi_mean_ci on the same arrays
    found = powered_mean(*drawn(0, 60, 400), weight=weight)
    assert (found.value, found.low, found.high) == pytest.approx((value, low, high), abs=1e-7)


def test_a_useless_judge_leaves_the_labels_alone() -> None:
    labels, _, more = drawn(1, 50, 500)
    found = powered_mean(labels, np.zeros(50), more * 0)
    assert found.weight == 0
    assert found.value == labels.mean()
    assert found.effective_labels == pytest.approx(50)


def test_a_good_judge_is_worth_labels() -> None:
    random = np.random.default_rng(2)
    truth = (random.random(1100) < 0.5).astype(float)
    judged = np.where(random.random(1100) < 0.95, truth, 1 - truth)
    assert powered_mean(truth[:100], judged[:100], judged[100:]).effective_labels > 200


def test_intervals_cover_the_truth_though_the_judge_is_biased() -> None:
    random, covered = np.random.default_rng(3), 0
    for _ in range(500):
        truth = (random.random(700) < 0.7).astype(float)
        judged = np.where(truth == 1, random.random(700) < 0.9, random.random(700) < 0.4).astype(float)
        found = powered_mean(truth[:100], judged[:100], judged[100:])
        covered += found.low <= 0.7 <= found.high
    assert covered / 500 >= 0.925


def test_items_of_one_note_count_as_dependent() -> None:
    labels, judged, more = (np.repeat(values, 5) for values in drawn(4, 20, 80))
    notes, others = np.repeat(np.arange(20), 5), np.repeat(np.arange(80), 5)
    apart = powered_mean(*drawn(4, 20, 80), weight=1.0)
    together = powered_mean(labels, judged, more, weight=1.0, clusters=notes, clusters_only=others)
    assert (together.low, together.high) == pytest.approx((apart.low, apart.high))


def test_labels_without_verdicts_are_refused() -> None:
    with pytest.raises(ValueError, match="3 labels and 2 verdicts"):
        powered_mean([1, 0, 1], [1, 0], [1, 1])


def test_two_labels_are_the_fewest_and_without_further_verdicts_the_labels_decide() -> None:
    assert np.isnan([getattr(powered_mean([1], [1], [0, 1]), name) for name in ("value", "low", "weight")]).all()
    assert powered_mean([0, 1], [0, 1], [1, 1]).value == pytest.approx(0.5 * 1 + (0.5 - 0.5 * 0.5))  # weight 0.5
    found = powered_mean([0, 1, 1, 0], [1, 1, 1, 1], [])
    half = 1.959964 * np.sqrt(0.25 / 4)
    assert (found.value, found.low, found.high) == pytest.approx((0.5, 0.5 - half, 0.5 + half), abs=1e-6)
    assert (found.weight, found.effective_labels) == (0, 4)
    one_more = powered_mean([0, 1, 1, 0], [0, 1, 1, 0], [1], weight=1.0)
    assert one_more.value == 1, "labels confirm the judge, whose verdict on the other item counts in full"
