"""Agreement and correlation: printed examples, and values worked by hand."""

import numpy as np
import pytest

from tasks.statistics.agreement import (
    Correlation,
    cohen_kappa,
    correlation,
    correlation_interval,
    kappa_interval,
    krippendorff_interval,
)
from tasks.statistics.intervals import mean_interval

MISSING = np.nan
PRINTED = [  # Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability", example C: four observers, twelve units
    [1, 2, 3, 3, 2, 1, 4, 1, 2, MISSING, MISSING, MISSING],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, MISSING, 3],
    [MISSING, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, MISSING],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, MISSING],
]


def test_a_unit_of_one_rater_says_nothing_on_agreement() -> None:
    two = krippendorff_interval([[1, 2, 1, 2], [1, 2, 2, 2]])
    assert krippendorff_interval([[1, 2, 1, 2, 5], [1, 2, 2, 2, MISSING]]) == two
    assert np.isnan(krippendorff_interval([[1, 2, MISSING], [MISSING, MISSING, 2]])[0])
    assert np.isnan(krippendorff_interval([[3, 3], [3, 3]])[0])
    value, low, high = krippendorff_interval(PRINTED)
    assert low < value == pytest.approx(0.815, abs=0.0005) and value < high <= 1


def test_kappa_by_hand() -> None:
    """The raters differ by one rank on 2 of 6 units; by chance on 2/3 of them, and by 14/3 ranks in all."""
    one, two = ["a", "a", "b", "b", "c", "c"], ["a", "b", "b", "b", "c", "b"]
    assert cohen_kappa(one, two) == pytest.approx(1 - 2 / 4)
    assert cohen_kappa(one, two, "linear") == pytest.approx(1 - 2 / (14 / 3))
    assert cohen_kappa([0, 1], [1, 0]) == -1 and np.isnan(cohen_kappa([1, 1], [1, 1]))


def test_rank_correlations_by_hand() -> None:
    """Ranks 1, 2, 3, 4 and 1, 3, 2, 4: rho 1 - 6 x 2 / 60; five of six pairs in order, one turned."""
    first, second = [1, 2, 3, 4], [10, 30, 20, 40]
    assert correlation(first, second, "spearman") == pytest.approx(0.8)
    assert correlation(first, second, "kendall") == pytest.approx(4 / 6)
    assert correlation([1, 2], [5, 4], "kendall") == -1 == pytest.approx(correlation([1, 2], [5, 4], "spearman"))
    assert np.isnan(correlation([1, 1], [5, 4], "kendall")) and np.isnan(correlation([1, 2], [5, 5], "kendall"))


@pytest.mark.parametrize("kind", ["spearman", "kendall"])
def test_scores_that_differ_in_their_last_bit_are_tied(kind: Correlation) -> None:
    """0.1 + 0.2 is not 0.3: the same F1 comes out so of a precision and a recall, and of the two exchanged."""
    people, metric = [1, 2, 3, 4, 5], [0.1 + 0.2, 0.9, 0.3, 1.2, 0.3]
    assert correlation(metric, people, kind) == correlation(np.round(metric, 6), people, kind)
    assert correlation(np.multiply(metric, 1e9), people, kind) == correlation(np.round(metric, 6), people, kind)


@pytest.mark.parametrize("kind", ["spearman", "kendall"])
def test_fewer_than_four_units_have_a_correlation_without_interval(kind: Correlation) -> None:
    value, low, high = correlation_interval([1, 2, 3], [2, 1, 3], kind)
    assert value > 0 and np.isnan([low, high]).all()
    value, low, high = correlation_interval([1, 2, 3, 4], [1, 2, 3, 4], kind)
    assert (value, high) == pytest.approx((1, 1)) and -1 < low < 1, "a perfect order of four may be luck"
    assert np.isnan(correlation_interval([1, 1, 1, 1], [1, 2, 3, 4], kind)).all()
    pairs = [1, 2, 3, 4] * 2, [1, 3, 2, 4] * 2
    assert np.isnan(correlation_interval(*pairs, kind, clusters=[0, 0, 0, 1, 1, 1, 2, 2])[1:]).all()


def test_the_interval_of_kappa_is_that_of_the_disagreement_over_the_expected_one() -> None:
    one, two = [0, 0, 0, 1, 1, 1, 1, 1, 0, 0], [0, 0, 0, 1, 1, 1, 1, 0, 0, 1]
    disagreement, low, high = mean_interval([0] * 7 + [1, 0, 1])
    kappa, *ends = kappa_interval(one, two)
    assert kappa == pytest.approx(cohen_kappa(one, two)) == pytest.approx(1 - disagreement / 0.5)
    assert ends == pytest.approx([1 - high / 0.5, 1 - low / 0.5])
    ranks, others = [0, 1, 2, 2, 1, 0], [0, 1, 2, 1, 1, 2]
    weighted = kappa_interval(ranks, others, "linear")
    distance = np.abs(np.subtract(ranks, others)) / 2
    expected = np.abs(np.subtract.outer(ranks, others)).mean() / 2
    assert weighted[0] == pytest.approx(cohen_kappa(ranks, others, "linear"))
    assert weighted[2] == pytest.approx(1 - mean_interval(distance)[1] / expected)
    assert np.isnan(kappa_interval([1, 1], [1, 1])).all()
    assert kappa_interval([0, 1] * 9, [1, 0] * 9)[1] == -1
