"""Calibration and pooling reach the optimum of their objectives, written down independently."""

import numpy as np
import pytest
from scipy.optimize import minimize

from tasks.baselines.calibration import Calibration, fit_calibration, normalise
from tasks.baselines.pooling import fit_pool, pool_inputs


def penalised(log_likelihood: float, distance: np.ndarray) -> float:
    return -log_likelihood + (distance**2).sum() / 2


def draws(values: int, n: int = 60) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(values)
    probabilities = random.dirichlet(np.full(values, 0.8), size=n)
    return probabilities, np.array([random.choice(values, p=row) for row in probabilities])


@pytest.mark.parametrize("values", [2, 3])
def test_the_slope_and_shifts_have_the_highest_penalised_likelihood(values: int) -> None:
    probabilities, labels = draws(values)
    distorted = normalise(2.5 * np.log(probabilities) + np.arange(values))

    def objective(flat: np.ndarray) -> float:
        made = Calibration(flat[0], np.concatenate([[0.0], flat[1:]])).apply(distorted)
        return penalised(np.log(made[np.arange(len(labels)), labels]).sum(), flat - np.eye(values)[0])

    best = minimize(objective, np.eye(values)[0], method="Nelder-Mead", options={"xatol": 1e-6, "fatol": 1e-9})
    found = fit_calibration(distorted, labels)
    assert [found.slope, *found.shifts[1:]] == pytest.approx(best.x.tolist(), abs=2e-3)
    assert found.slope < 0.9 and found.shifts[0] == 0


def test_separable_classes_leave_a_finite_slope() -> None:
    found = fit_calibration(np.array([[0.9, 0.1], [0.2, 0.8]] * 20), np.array([0, 1] * 20))
    assert 1 < found.slope < 10


@pytest.mark.parametrize("values", [2, 3])
def test_the_pool_has_the_highest_penalised_likelihood(values: int) -> None:
    first, labels = draws(values)
    second, _ = draws(values + 1)
    second = normalise(np.log(second[:, :values]))
    inputs = pool_inputs(first, second)
    assert inputs[:, 0] == pytest.approx(np.log(first[:, 1] / first[:, 0]))
    free = values - 1
    centre = np.vstack([np.zeros((free, free)), np.eye(free), np.zeros((1, free))])  # the last model alone

    def objective(flat: np.ndarray) -> float:
        logs = np.column_stack([inputs, np.ones(len(inputs))]) @ flat.reshape(centre.shape)
        made = normalise(np.column_stack([np.zeros(len(logs)), logs]))
        return penalised(np.log(made[np.arange(len(labels)), labels]).sum(), flat - centre.ravel())

    best = minimize(objective, centre.ravel(), method="BFGS", options={"gtol": 1e-7})
    found = fit_pool(inputs, labels, values)
    assert np.vstack([found.weights, found.shifts]).ravel() == pytest.approx(best.x, abs=2e-3)
    assert found.apply(inputs).sum(axis=1) == pytest.approx(np.ones(len(labels)))


def test_probabilities_come_from_logs_of_any_size() -> None:
    assert normalise(np.array([[1000.0, 1000.0], [np.log(1), np.log(3)]])).tolist() == [[0.5, 0.5], [0.25, 0.75]]
