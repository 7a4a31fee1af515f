"""Shares of judged items, corrected by the judge's rates or by labels, cover the truth."""

from collections.abc import Sequence

import numpy as np
import pytest

from tasks.statistics.intervals import Interval, mean_interval
from tasks.statistics.misclassification import (
    corrected_mean,
    corrected_share,
)
from tasks.statistics.prediction_powered import correlated_draws, drawn_limit, powered_share

Cases = tuple[np.ndarray, np.ndarray, np.ndarray]  # truth, verdict, and note of each


def cases(yes: Sequence[int], no: Sequence[int]) -> Cases:
    """Verdicts on cases whose answer is ``yes``, and on those whose answer is ``no``, each of a note of its own."""
    return np.repeat([1, 0], [len(yes), len(no)]), np.array([*yes, *no]), np.arange(len(yes) + len(no))


@pytest.mark.parametrize("all_answers", [0.0, 0.5, 1.0])
def test_a_judge_that_never_erred_is_still_uncertain_and_the_interval_contains_its_estimate(all_answers: float) -> None:
    value, low, high = corrected_mean(np.full(6, all_answers), *cases([1] * 18, [0] * 18), seed=7)
    assert low <= value == all_answers <= high and high - low > 0.05


def test_a_value_outside_its_range_is_not_cut() -> None:
    found = corrected_mean([0.9, 0.92, 0.88], *cases([1, 1, 1, 0], [0, 0, 0, 0]), seed=1)
    assert found[0] == pytest.approx(1.2)


def test_a_single_known_case_gives_a_value_and_none_does_not() -> None:
    assert corrected_mean([0.5, 0.7], *cases([1], [0]), seed=1)[0] == pytest.approx(0.6)
    assert np.isnan(corrected_mean([0.5, 0.7], *cases([1], []), seed=1)[0])
    assert np.isnan(corrected_mean([0.5, 0.7], *cases([], [0]), seed=1)[0])
    assert np.isnan(corrected_mean([0.5], *cases([1], [0]), seed=1)[0])


def test_an_uninformative_judge_gives_no_value() -> None:
    assert np.isnan(corrected_share(0.5, 0.5, 0.5))
    assert np.isnan(corrected_mean([0.5, 0.6], *cases([1, 0], [1, 0]), seed=1)[0])


def test_a_shift_of_the_rates_widens_the_interval_to_the_worst_case_and_keeps_the_value() -> None:
    known = cases([1] * 900 + [0] * 100, [1] * 100 + [0] * 900)
    scores = np.full(400, 0.5)
    found = {shift: corrected_mean(scores, *known, seed=1, shift=shift) for shift in (0.0, 0.05)}
    assert found[0.0][0] == found[0.05][0] == pytest.approx(0.5)
    # sensitivity and specificity of .85 and .95, and of .95 and .85: (.5 - .05) / .8 and (.5 - .15) / .8
    assert found[0.05][2] - found[0.0][2] == pytest.approx((0.5 - 0.05) / 0.8 - 0.5, abs=0.01)
    assert found[0.0][1] - found[0.05][1] == pytest.approx(0.5 - (0.5 - 0.15) / 0.8, abs=0.01)


def test_the_interval_of_a_count_is_that_of_the_share_times_the_mean_ceiling() -> None:
    known = cases([1] * 9 + [0], [1] + [0] * 9)
    share = corrected_mean([0.3, 0.5], *known, seed=1)
    assert share[0] == pytest.approx((0.4 - 0.1) / 0.8)
    count = corrected_mean([3, 5], *known, ceilings=[10, 10], seed=1)
    assert count == pytest.approx([10 * end for end in share])


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
    own = {"clusters": np.arange(100), "clusters_only": np.arange(100, 500)}
    assert apart == powered_share(labels, judged, more, seed=1, **own), "items without a note are apart"


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
