"""Classifiers in NumPy equal those of a plain torch loop."""

import numpy as np
import pytest
import torch

from schemas.params.learning import Neural, Schedule
from tasks.baselines.neural_text import Classifier, batch_order, initial_weights, rate_for, train_and_predict

PARAMS = Neural(
    hidden=16,
    batch_size=20,
    weight_decay=1e-2,
    least_rows=100,
    two_values=Schedule(epochs=4, learning_rate=1e-2),
    more_values=Schedule(epochs=5, learning_rate=5e-3),
)


def _classifier(values: int, rows: int = 110) -> tuple[Classifier, np.ndarray]:
    """A classifier of ``rows`` with 12 inputs, and inputs to predict on."""
    random = np.random.default_rng(3)
    inputs = random.normal(size=(rows, 12)).astype(np.float32)
    return Classifier(inputs, random.integers(0, values, size=rows), values, stream=2), inputs[:30] * 0.5


def _plain_loop(classifier: Classifier, others: np.ndarray, times: float, seed: int) -> np.ndarray:
    """The probabilities of the classifier as a plain torch training loop."""
    schedule = PARAMS.two_values if classifier.values == 2 else PARAMS.more_values
    outputs = 1 if classifier.values == 2 else classifier.values
    layers = torch.nn.Linear(12, PARAMS.hidden), torch.nn.Linear(PARAMS.hidden, outputs)
    model = torch.nn.Sequential(layers[0], torch.nn.ReLU(), layers[1])
    with torch.no_grad():
        for parameter, start in zip(model.parameters(), initial_weights(classifier, PARAMS.hidden, seed), strict=True):
            parameter.copy_(torch.from_numpy(start))
    adam = torch.optim.Adam(model.parameters(), lr=times * schedule.learning_rate, weight_decay=PARAMS.weight_decay)
    inputs, labels = torch.from_numpy(classifier.inputs), torch.from_numpy(classifier.labels)
    for order in batch_order(len(inputs), schedule.epochs, seed):
        for start in range(0, len(order), PARAMS.batch_size):
            rows = order[start : start + PARAMS.batch_size]
            adam.zero_grad()
            found = model(inputs[rows])
            if outputs == 1:
                loss = torch.nn.functional.binary_cross_entropy_with_logits(found[:, 0], labels[rows].float())
            else:
                loss = torch.nn.functional.cross_entropy(found, labels[rows])
            loss.backward()
            adam.step()
    with torch.no_grad():
        found = model(torch.from_numpy(others)).double()
    if outputs == 1:
        yes = found[:, 0].sigmoid()
        return torch.stack([1 - yes, yes], dim=1).numpy()
    return found.softmax(dim=1).numpy()


@pytest.mark.parametrize(("values", "rows", "times"), [(2, 110, 1), (3, 110, 1), (2, 50, 2), (3, 10, 5)])
def test_a_classifier_equals_a_plain_loop_with_the_same_weights_and_batches(
    values: int, rows: int, times: float
) -> None:
    classifier, others = _classifier(values, rows)
    found = train_and_predict(classifier, others, PARAMS, seed=5)
    np.testing.assert_allclose(found, _plain_loop(classifier, others, times, 5), atol=2e-5)
    np.testing.assert_allclose(found.sum(axis=-1), 1)


def test_outputs_beyond_the_range_of_exp_are_probabilities() -> None:
    classifier, others = _classifier(2)
    certain = train_and_predict(classifier, others * np.float32(1e6), PARAMS, seed=1)
    assert np.isin(certain, (0, 1)).all() and (certain.sum(axis=1) == 1).all()


def test_small_training_sets_get_a_higher_rate_as_their_epochs_have_fewer_steps() -> None:
    schedule = PARAMS.two_values
    times = {rows: rate_for(rows, schedule, PARAMS) / schedule.learning_rate for rows in (3, 20, 25, 100, 8000)}
    assert times == pytest.approx({3: 5, 20: 5, 25: 4, 100: 1, 8000: 1})  # a batch has 20 rows
