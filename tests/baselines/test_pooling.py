import numpy as np
import pytest

from tasks.baselines.pooling import Pool, fit_pool, pool_inputs


def _models(values: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(values)
    return random.dirichlet(np.ones(values), n), random.dirichlet(np.ones(values), n)


@pytest.mark.parametrize("values", [2, 3])
def test_without_records_the_last_model_is_unchanged(values: int) -> None:
    inputs = pool_inputs(*_models(values, 50))
    pool = fit_pool(inputs[:0], np.zeros(0, dtype=np.int64), values)
    np.testing.assert_allclose(pool.apply(inputs), _models(values, 50)[1])


@pytest.mark.parametrize("values", [2, 3])
def test_the_weights_of_a_simulated_pool_are_recovered(values: int) -> None:
    inputs, random = pool_inputs(*_models(values, 20_000)), np.random.default_rng(0)
    size = values - 1
    true = Pool(np.concatenate([0.4 * np.eye(size), 0.7 * np.eye(size)]), np.full(size, -0.5))
    labels = (true.apply(inputs).cumsum(axis=1) < random.random((len(inputs), 1))).sum(axis=1)
    found = fit_pool(inputs, labels, values)
    np.testing.assert_allclose(found.weights, true.weights, atol=0.06)
    np.testing.assert_allclose(found.shifts, true.shifts, atol=0.08)


def test_a_value_that_no_record_has_stays_possible() -> None:
    inputs = pool_inputs(*_models(3, 100))
    found = fit_pool(inputs, np.zeros(100, dtype=np.int64), 3).apply(inputs)
    assert np.isfinite(found).all() and (found > 0).all() and (found.argmax(axis=1) == 0).mean() > 0.9


def test_a_certain_model_does_not_overrule_the_other() -> None:
    """Probabilities of 0 are clipped, so log odds stay finite."""
    inputs = pool_inputs(np.array([[1.0, 0.0]]), np.array([[0.3, 0.7]]))
    np.testing.assert_allclose(inputs, [[np.log(1e-6), np.log(0.7 / 0.3)]])
