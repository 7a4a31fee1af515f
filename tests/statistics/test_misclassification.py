"""Corrected means cover the truth for judges whose error rates depend on the kind of case."""

from collections.abc import Sequence

import numpy as np
import pytest

from tasks.statistics.misclassification import (
    Stratum,
    corrected_mean,
    corrected_range,
    corrected_share,
    turning_shift,
)

NOTES, CLAIMS, CASES = 200, 12, 2500  # notes that are scored, claims of each, known cases of each truth and kind
RUNS = 500
KINDS = (0.6, 0.4)  # shares of two kinds among the judged items: paraphrased and compacted claims


def answers(random: np.random.Generator, n: int, rate: float, notes: int) -> tuple[np.ndarray, np.ndarray]:
    """Verdicts of ``n`` cases that are yes at ``rate``, by a judge whose error rate varies between notes."""
    of = random.integers(0, notes, n)
    error = 1 - rate if rate > 0.5 else rate
    by_note = np.minimum(error * random.choice([0.5, 1.5], notes), 1)
    wrong = random.random(n) < by_note[of]
    return (~wrong if rate > 0.5 else wrong).astype(float), of


def run(seed: int, truth: float, yes: Sequence[float], no: Sequence[float]) -> tuple[float, float, float, float]:
    """Interval of one simulated study, and the width of an estimator with known error rates."""
    random = np.random.default_rng(seed)
    share = random.beta(8 * truth, 8 * (1 - truth), NOTES) if truth < 1 else np.ones(NOTES)
    kind = random.choice(2, (NOTES, CLAIMS), p=KINDS)
    true = random.random((NOTES, CLAIMS)) < share[:, None]
    rate = np.where(true, np.array(yes)[kind], np.array(no)[kind])
    scores = (random.random((NOTES, CLAIMS)) < rate).mean(axis=1)
    strata = [
        [Stratum(*answers(random, CASES, one, NOTES), weight=w) for one, w in zip(rates, KINDS, strict=True)]
        for rates in (yes, no)
    ]
    found = corrected_mean(scores, *strata, seed=seed, draws=1000)
    informedness = float(np.dot(KINDS, yes) - np.dot(KINDS, no))
    known = 2 * 1.96 * scores.std(ddof=1) / np.sqrt(NOTES) / informedness
    return found.value, found.low, found.high, known


@pytest.mark.parametrize(
    ("truth", "yes", "no", "most"),
    [
        (0.80, (0.95, 0.80), (0.03, 0.10), 0.98),
        (0.30, (0.90, 0.85), (0.10, 0.05), 0.98),
        (0.92, (0.90, 0.75), (0.15, 0.08), 0.98),
        (0.80, (1.00, 0.80), (0.00, 0.10), 1.0),  # perfect strata
        (0.80, (1.00, 1.00), (0.00, 0.00), 1.0),
    ],
)
def test_intervals_cover_the_truth_and_are_not_wide(
    truth: float, yes: Sequence[float], no: Sequence[float], most: float
) -> None:
    runs = np.array([run(seed, truth, yes, no) for seed in range(RUNS)])
    covered = ((runs[:, 1] <= truth) & (truth <= runs[:, 2])).mean()
    assert 0.93 <= covered <= most
    assert (runs[:, 2] - runs[:, 1]).mean() <= 1.3 * runs[:, 3].mean()
    assert runs[:, 0].mean() == pytest.approx(truth, abs=0.005)


@pytest.mark.parametrize("all_answers", [0.0, 0.5, 1.0])
def test_a_judge_that_never_erred_is_still_uncertain_and_the_interval_contains_its_estimate(all_answers: float) -> None:
    yes, no = ([Stratum(np.full(18, answer), np.arange(18))] for answer in (1.0, 0.0))
    found = corrected_mean(np.full(6, all_answers), yes, no, seed=7)
    assert found.low <= found.value == all_answers <= found.high
    assert found.high - found.low > 0.05


def test_a_value_outside_its_range_is_flagged_and_not_cut() -> None:
    matched = [Stratum([1, 1, 1, 0], range(4))], [Stratum([0, 0, 0, 0], range(4))]
    found = corrected_mean([0.9, 0.92, 0.88], *matched, seed=1)
    assert found.value == pytest.approx(1.2)
    assert not found.inside


def test_a_single_known_case_gives_a_value_and_none_does_not() -> None:
    one, none = Stratum([1], [0]), Stratum([], [])
    assert corrected_mean([0.5, 0.7], [one], [Stratum([0], [0])], seed=1).value == pytest.approx(0.6)
    assert np.isnan(corrected_mean([0.5, 0.7], [one], [none], seed=1).value)
    assert np.isnan(corrected_mean([0.5], [one], [Stratum([0], [0])], seed=1).value)


def test_an_uninformative_judge_gives_no_value() -> None:
    assert np.isnan(corrected_share(0.5, 0.5, 0.5))
    cases = [Stratum([1, 0], [0, 1])], [Stratum([1, 0], [0, 1])]
    assert np.isnan(corrected_mean([0.5, 0.6], *cases, seed=1).value)
    assert np.isnan(corrected_mean([0.5, 0.6], [Stratum([], [])], cases[1], seed=1).value)


def test_a_shift_of_the_rates_widens_the_interval_to_the_worst_case_and_keeps_the_value() -> None:
    cases = (
        [Stratum(np.repeat([1, 0], [900, 100]), np.arange(1000))],
        [Stratum(np.repeat([1, 0], [100, 900]), np.arange(1000))],
    )
    scores = np.full(400, 0.5)
    found = {shift: corrected_mean(scores, *cases, seed=1, shift=shift) for shift in (0.0, 0.05)}
    assert found[0.0].value == found[0.05].value == pytest.approx(0.5)
    # sensitivity and specificity of .85 and .95, and of .95 and .85: (.5 - .05) / .8 and (.5 - .15) / .8
    assert found[0.05].high - found[0.0].high == pytest.approx((0.5 - 0.05) / 0.8 - 0.5, abs=0.01)
    assert found[0.0].low - found[0.05].low == pytest.approx(0.5 - (0.5 - 0.15) / 0.8, abs=0.01)


def test_strata_are_weighted_by_their_share_among_the_judged_items() -> None:
    yes = [
        Stratum(np.repeat([1, 0], [8, 2]), np.arange(10), 3.0),
        Stratum(np.repeat([1, 0], [4, 6]), np.arange(10), 1.0),
    ]
    no = [Stratum(np.repeat([1, 0], [1, 9]), np.arange(10), 2.0)]
    found = corrected_mean([0.4, 0.5, 0.45], yes, no, seed=1)
    sensitivity = (3 * 0.8 + 1 * 0.4) / 4
    assert found.value == pytest.approx((0.45 - 0.1) / (sensitivity - 0.1))
    assert found.low < found.value < found.high and found.inside


def test_the_interval_of_a_count_is_that_of_the_share_times_the_mean_ceiling() -> None:
    cases = [Stratum(np.repeat([1, 0], [9, 1]), np.arange(10))], [Stratum(np.repeat([1, 0], [1, 9]), np.arange(10))]
    share = corrected_mean([0.3, 0.5], *cases, seed=1)
    assert share.value == pytest.approx((0.4 - 0.1) / 0.8)
    count = corrected_mean([3, 5], *cases, ceilings=[10, 10], seed=1)
    assert (count.value, count.low, count.high) == pytest.approx((10 * share.value, 10 * share.low, 10 * share.high))


@pytest.mark.parametrize(("value", "inside"), [(0.0, True), (0.5, True), (1.0, True), (1.01, False), (-0.01, False)])
def test_the_ends_of_the_range_are_inside(value: float, inside: bool) -> None:
    exact = [Stratum([1, 1], [0, 1])], [Stratum([0, 0], [0, 1])]
    assert corrected_mean([value - 0.1, value + 0.1], *exact, seed=1).inside is inside


def test_the_order_of_two_systems_turns_where_the_ranges_of_their_corrected_shares_meet() -> None:
    shift = turning_shift(0.62, 0.69, 0.9, 0.8)
    for off, apart in ((shift - 0.001, True), (shift + 0.001, False)):
        lower, upper = (corrected_range(share, 0.9, 0.8, off) for share in (0.62, 0.69))
        assert (lower[1] < upper[0]) == apart
    assert turning_shift(0.6, 0.6, 0.9, 0.8) < 1e-5 and np.isnan(turning_shift(0.5, 0.6, 0.5, 0.5))
