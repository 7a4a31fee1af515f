"""Agreement and correlation: printed examples, and values worked by hand."""

import numpy as np
import pytest

from tasks.statistics.agreement import (
    cohen_kappa,
    correlation,
    correlation_interval,
    krippendorff_alpha,
    krippendorff_interval,
)

MISSING = np.nan
PRINTED = [  # Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability", example C: four observers, twelve units
    [1, 2, 3, 3, 2, 1, 4, 1, 2, MISSING, MISSING, MISSING],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, MISSING, 3],
    [MISSING, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, MISSING],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, MISSING],
]


@pytest.mark.parametrize(("level", "alpha"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)])
def test_alpha_of_the_printed_example(level: str, alpha: float) -> None:
    assert krippendorff_alpha(PRINTED, level) == pytest.approx(alpha, abs=0.0005)  # type: ignore[arg-type]


def test_a_unit_of_one_rater_says_nothing_on_agreement() -> None:
    two = krippendorff_alpha([[1, 2, 1, 2], [1, 2, 2, 2]])
    assert krippendorff_alpha([[1, 2, 1, 2, 5], [1, 2, 2, 2, MISSING]]) == two
    assert np.isnan(krippendorff_alpha([[1, 2, MISSING], [MISSING, MISSING, 2]]))
    assert np.isnan(krippendorff_alpha([[3, 3], [3, 3]]))
    low, high = krippendorff_interval(PRINTED, seed=1, draws=100)
    assert low < 0.815 < high <= 1


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
def test_resamples_with_a_constant_list_are_left_out_of_the_interval(kind: str) -> None:
    def ends(first: list[float], second: list[float]) -> tuple[float, float]:
        return correlation_interval(first, second, kind, seed=1, draws=200)  # type: ignore[arg-type]

    assert ends([1, 2], [3, 4]) == (1, 1), "half of the resamples of two units hold one of them twice"
    assert np.isnan(ends([1, 1, 1], [1, 2, 3])).all() and np.isnan(ends([1], [2])).all()
    low, high = ends([1, 2, 3, 4, 5, 6], [1, 3, 2, 4, 6, 5])
    assert -1 <= low < correlation([1, 2, 3, 4, 5, 6], [1, 3, 2, 4, 6, 5], kind) < high <= 1 + 1e-12  # type: ignore[arg-type]
