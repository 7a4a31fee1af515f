"""The share of true items from few labels and many verdicts."""

import numpy as np
import pytest

from tasks.statistics.intervals import Interval, mean_interval
from tasks.statistics.prediction_powered import correlated_draws, drawn_limit, powered_share


def width(interval: Interval) -> float:
    return interval[2] - interval[1]


def drawn(seed: int, n: int, more: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Labels and verdicts of ``n`` items, and ``more`` verdicts, by a judge that is right in 95% of the cases."""
    random = np.random.default_rng(seed)
    truth = (random.random(n + more) < 0.5).astype(float)
    judged = np.where(random.random(n + more) < 0.95, truth, 1 - truth)
    return truth[:n], judged[:n], judged[n:]


def test_the_value_adds_up_the_labels_within_each_verdict() -> None:
    """3 of 4 labelled yes verdicts and 1 of 2 no verdicts are true; 60 of 100 items are judged yes."""
    value, low, high = powered_share([1, 1, 1, 0, 1, 0], [1, 1, 1, 1, 0, 0], [1] * 56 + [0] * 38, seed=1)
    assert value == pytest.approx(0.6 * 3 / 4 + 0.4 * 1 / 2)
    assert low < value < high


def test_ten_labels_that_agree_with_the_judge_do_not_prove_it() -> None:
    value, low, high = powered_share([1] * 10, [1] * 10, [1] * 500, seed=1)
    assert (value, high) == (1, 1) and 0.65 < low < 0.8


def test_a_useless_judge_saves_no_labels_and_a_good_one_some() -> None:
    labels, judged, more = drawn(2, 100, 1000)
    coin = np.random.default_rng(3).random(1100) < 0.5
    alone = width(mean_interval(labels))
    assert width(powered_share(labels, judged, more, seed=1)) < alone / np.sqrt(2)
    assert width(powered_share(labels, coin[:100], coin[100:], seed=1)) > 0.9 * alone


def test_labels_of_few_notes_have_no_powered_share() -> None:
    assert np.isnan(powered_share([1, 0, 1, 0], [1, 0, 1, 0], [1, 1], seed=1)).all()
    assert powered_share([1, 0, 1, 0, 1], [1, 0, 1, 0, 1], [1, 1], seed=1)[0] == 1 - 2 / 7
    notes = np.repeat([0, 1], 25)
    assert np.isnan(powered_share([1] * 50, [1] * 50, [1] * 50, seed=1, clusters=notes)).all()


def test_items_of_one_note_count_as_dependent() -> None:
    labels, judged, more = (np.repeat(values, 5) for values in drawn(4, 20, 80))
    of = {"clusters": np.repeat(np.arange(20), 5), "clusters_only": np.repeat(np.arange(20, 100), 5)}
    apart, together = powered_share(labels, judged, more, seed=1), powered_share(labels, judged, more, seed=1, **of)
    assert width(together) > 1.5 * width(apart)


def test_without_further_verdicts_the_labels_decide() -> None:
    assert powered_share([0, 1, 1, 0, 1, 1], [1, 1, 1, 1, 1, 1], [], seed=1)[0] == pytest.approx(4 / 6)


def test_labels_without_verdicts_are_refused() -> None:
    with pytest.raises(ValueError, match="3 labels and 2 verdicts"):
        powered_share([1, 0, 1], [1, 0], [1, 1], seed=1)


@pytest.mark.parametrize("correlation", [-1.0, -0.5, 0.0, 0.5, 1.0])
def test_draws_are_ordered_to_a_correlation_and_keep_their_values(correlation: float) -> None:
    random = np.random.default_rng(4)
    first, second = (drawn_limit(share, 200, random, 4000) for share in (0.6, 0.8))
    one, other = correlated_draws(first, second, correlation, random)
    assert (np.sort(one) == np.sort(first)).all() and (np.sort(other) == np.sort(second)).all()
    assert np.corrcoef(one, other)[0, 1] == pytest.approx(correlation, abs=0.04)
