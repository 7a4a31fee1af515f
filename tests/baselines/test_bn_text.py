"""BN-text and the calibration that it rests on."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

from schemas.params.learning import Baselines
from tasks.baselines.bn_text import cross_fitted, designs_of, infer
from tasks.baselines.calibration import apply, calibrated, fit_calibration, fit_pool, pool_design
from tasks.baselines.targets import Parts, labels_of
from tasks.network.fitting import fit
from tasks.network.graph import EVIDENCE_SETTINGS
from tasks.network.inference import joint, marginal, updated
from tests.baselines.samples import TARGETS, random_predictions, records
from tests.support.records import NETWORK

PARAMS = Baselines()


def _read(frame: pd.DataFrame, accuracy: float = 0.8) -> dict[str, np.ndarray]:
    """P(symptom | the reader's observations of all symptoms); an observation is sometimes a random value."""
    random, seen = np.random.default_rng(len(frame)), []
    for target in TARGETS:
        size, true = len(target.values), labels_of(frame, target)
        observed = np.where(random.random(len(frame)) < accuracy, true, random.integers(size, size=len(frame)))
        seen.append(accuracy * np.eye(size)[observed] + (1 - accuracy) / size)
    posterior = updated(joint(NETWORK, [target.symptom for target in TARGETS])[None], seen)
    return {target.symptom: marginal(posterior, axis) for axis, target in enumerate(TARGETS)}


def _log_loss(probabilities: np.ndarray, labels: np.ndarray) -> float:
    return float(-np.log(probabilities[np.arange(len(labels)), labels]).mean())


@pytest.fixture(scope="module")
def losses() -> dict[str, dict[str, float]]:
    """Mean log loss over the symptoms on test records, by setting and system."""
    frame = records(2400)
    train, test = frame.iloc[:1200].reset_index(drop=True), frame.iloc[1200:].reset_index(drop=True)
    folds = [(np.arange(600, 1200), np.arange(600)), (np.arange(600), np.arange(600, 1200))]
    parts = Parts(NETWORK, train, test)
    found_designs, used = cross_fitted(parts, TARGETS, {"normal": _read(train)}, folds, PARAMS.network, 0)
    fitting = found_designs["normal"]
    inferred, text = infer(fit(NETWORK, train, PARAMS.network), test, TARGETS), _read(test)
    designs = designs_of(inferred, text, TARGETS)
    found: dict[str, dict[str, list[float]]] = {}
    for axis, target in enumerate(TARGETS):
        labels, prior = labels_of(test, target), marginal(inferred.prior, axis)
        for setting in EVIDENCE_SETTINGS:
            key = target.symptom, setting
            product = text[target.symptom] / prior * inferred.posteriors[key]
            systems = {
                "pool": apply(designs[key], fit_pool(fitting[key], labels_of(train, target)[used])),
                "text": text[target.symptom],
                "network": inferred.posteriors[key],
                "product": product / product.sum(axis=1, keepdims=True),
            }
            for system, probabilities in systems.items():
                found.setdefault(setting, {}).setdefault(system, []).append(_log_loss(probabilities, labels))
    return {setting: {name: float(np.mean(values)) for name, values in by.items()} for setting, by in found.items()}


@pytest.mark.parametrize("setting", EVIDENCE_SETTINGS)
def test_bn_text_beats_text_network_and_their_product(losses: dict[str, dict[str, float]], setting: str) -> None:
    others = {name: loss for name, loss in losses[setting].items() if name != "pool"}
    assert losses[setting]["pool"] < min(others.values()) - 0.005, losses


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
