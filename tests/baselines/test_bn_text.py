"""BN-text and the calibration that it rests on."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

from tasks.baselines.calibration import apply, calibrated, fit_calibration, fit_pool, pool_design
from tests.baselines.samples import random_predictions


def highest(log_probabilities, labels: np.ndarray, centre: np.ndarray) -> np.ndarray:  # type: ignore[no-untyped-def]
    """The parameters of highest likelihood, with a unit normal prior around ``centre``."""

    def objective(flat: np.ndarray) -> float:
        return ((flat - centre) ** 2).sum() / 2 - log_probabilities(flat)[np.arange(len(labels)), labels].sum()

    return minimize(objective, centre, method="BFGS", options={"gtol": 1e-7}).x


@pytest.mark.parametrize("values", [2, 3])
def test_the_slope_and_shifts_have_the_highest_penalised_likelihood(values: int) -> None:
    labels, probabilities = random_predictions(values, 60)
    distorted = softmax(2.5 * np.log(probabilities) + np.arange(values), axis=1)

    def recalibrated(flat: np.ndarray) -> np.ndarray:
        return log_softmax(flat[0] * np.log(distorted) + np.concatenate([[0], flat[1:]]), axis=1)

    found = fit_calibration(distorted, labels)
    assert found == pytest.approx(highest(recalibrated, labels, np.eye(values)[0]), abs=2e-3)
    assert found[0] < 0.9
    assert calibrated(found, distorted) == pytest.approx(np.exp(recalibrated(found)))


def test_separable_classes_leave_a_finite_slope() -> None:
    found = fit_calibration(np.array([[0.9, 0.1], [0.2, 0.8]] * 20), np.array([0, 1] * 20))
    assert 1 < found[0] < 10


@pytest.mark.parametrize("values", [2, 3])
def test_the_pool_has_the_highest_penalised_likelihood(values: int) -> None:
    labels, first = random_predictions(values, 60)
    second, free = random_predictions(values, 60, seed=9)[1], values - 1
    odds = [np.log(model[:, 1:] / model[:, :1]) for model in (first, second)]
    centre = np.vstack([np.zeros((free, free)), np.eye(free), np.zeros((1, free))])  # the last model alone

    def pooled(flat: np.ndarray) -> np.ndarray:
        logs = np.column_stack([*odds, np.ones(60)]) @ flat.reshape(free, -1).T
        return log_softmax(np.column_stack([np.zeros(60), logs]), axis=1)

    design = pool_design(first, second)
    found = fit_pool(design, labels)
    assert found == pytest.approx(highest(pooled, labels, centre.T.ravel()), abs=2e-3)
    assert apply(design, found) == pytest.approx(np.exp(pooled(found)))


@pytest.mark.parametrize("values", [2, 3])
def test_without_records_the_last_model_is_unchanged(values: int) -> None:
    _, first = random_predictions(values, 50)
    _, second = random_predictions(values, 50, seed=9)
    design = pool_design(first, second)
    pool = fit_pool(design[:0], np.zeros(0, dtype=np.int64))
    np.testing.assert_allclose(apply(design, pool), second)


def test_a_value_that_no_record_has_stays_possible() -> None:
    design = pool_design(random_predictions(3, 100)[1], random_predictions(3, 100, seed=9)[1])
    found = apply(design, fit_pool(design, np.zeros(100, dtype=np.int64)))
    assert np.isfinite(found).all() and (found > 0).all() and (found.argmax(axis=1) == 0).mean() > 0.9


def test_a_certain_model_does_not_overrule_the_other() -> None:
    """Probabilities of 0 are clipped, so log odds stay finite."""
    design = pool_design(np.array([[1.0, 0.0]]), np.array([[0.3, 0.7]]))
    np.testing.assert_allclose(design, [[[0, 0, 0], [np.log(1e-6), np.log(0.7 / 0.3), 1]]])
