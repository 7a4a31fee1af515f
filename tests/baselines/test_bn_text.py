"""BN-text on the reports of a simulated reader, whose text is independent of the tables given all symptoms."""

import numpy as np
import pandas as pd
import pytest

from schemas.params.learning import Baselines
from schemas.tables.baselines import EVIDENCE_SETTINGS
from tasks.baselines.bn_text import cross_fitted, designs_of, infer
from tasks.baselines.calibration import apply, fit_pool
from tasks.baselines.targets import Parts, labels_of, targets_of
from tasks.network.fitting import fit
from tasks.network.inference import joint, marginal, updated
from tests.baselines.samples import definition, records

TARGETS = targets_of(definition())
PARAMS = Baselines()


def _read(frame: pd.DataFrame, accuracy: float = 0.8) -> dict[str, np.ndarray]:
    """P(symptom | the reader's observations of all symptoms); an observation is sometimes a random value."""
    random, seen = np.random.default_rng(len(frame)), []
    for target in TARGETS:
        size, true = len(target.values), labels_of(frame, target)
        observed = np.where(random.random(len(frame)) < accuracy, true, random.integers(size, size=len(frame)))
        seen.append(accuracy * np.eye(size)[observed] + (1 - accuracy) / size)
    posterior = updated(joint(definition(), [target.symptom for target in TARGETS])[None], seen)
    return {target.symptom: marginal(posterior, axis) for axis, target in enumerate(TARGETS)}


def _log_loss(probabilities: np.ndarray, labels: np.ndarray) -> float:
    return float(-np.log(probabilities[np.arange(len(labels)), labels]).mean())


@pytest.fixture(scope="module")
def losses() -> dict[str, dict[str, float]]:
    """Mean log loss over the symptoms on test records, by setting and system."""
    frame = records(2400)
    train, test = frame.iloc[:1200].reset_index(drop=True), frame.iloc[1200:].reset_index(drop=True)
    folds = [(np.arange(600, 1200), np.arange(600)), (np.arange(600), np.arange(600, 1200))]
    parts = Parts(definition(), train, test)
    found_designs, used = cross_fitted(parts, TARGETS, {"normal": _read(train)}, folds, PARAMS.network, 0)
    fitting = found_designs["normal"]
    inferred, text = infer(fit(definition(), train, PARAMS.network), test, TARGETS), _read(test)
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
