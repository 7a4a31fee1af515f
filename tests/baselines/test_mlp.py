"""Classifiers that are trained together equal those trained alone, in a plain torch loop."""

import sys

import numpy as np
import pytest
import torch

from schemas.errors import ParamsError
from schemas.params.learning import Baselines, Neural, Schedule
from tasks.baselines.neural_text import (
    Classifiers,
    Job,
    batch_order,
    epochs_for,
    initial_weights,
    train_and_predict,
    train_job,
)
from tests.support.devices import OTHER, OneDevice

PARAMS = Neural(
    hidden=16,
    batch_size=20,
    weight_decay=1e-2,
    least_rows=100,
    two_values=Schedule(epochs=4, learning_rate=1e-2),
    more_values=Schedule(epochs=5, learning_rate=5e-3),
)


def _classifiers(values: int, m: int, *, masked: bool = False, own: bool = False) -> tuple[Classifiers, np.ndarray]:
    """m classifiers of 110 rows with 12 inputs, each its ``own`` or all the same, and inputs to predict on."""
    random = np.random.default_rng(3)
    inputs = random.normal(size=(m if own else 1, 110, 12)).astype(np.float32)
    labels = random.integers(0, values, size=(110, m))
    mask = np.ones((m, 12), dtype=bool)
    mask[np.arange(m), np.arange(m) + 8] = False
    streams = tuple(range(m))
    return Classifiers(inputs, labels, values, streams, mask if masked else None), inputs[:, :30] * 0.5


def _plain_loop(classifiers: Classifiers, number: int, others: np.ndarray, seed: int) -> np.ndarray:
    """One classifier alone, as a plain torch training loop."""
    mask = np.ones(12, dtype=bool) if classifiers.feature_mask is None else classifiers.feature_mask[number]
    own, others = (array[number % len(array)][:, mask] for array in (classifiers.inputs, others))
    schedule = PARAMS.two_values if classifiers.values == 2 else PARAMS.more_values
    model = torch.nn.Sequential(
        torch.nn.Linear(int(mask.sum()), PARAMS.hidden),
        torch.nn.ReLU(),
        torch.nn.Linear(PARAMS.hidden, classifiers.outputs),
    )
    w1, b1, w2, b2 = (torch.from_numpy(w[number]) for w in initial_weights(classifiers, PARAMS.hidden, seed))
    with torch.no_grad():
        for parameter, start in zip(model.parameters(), (w1[:, mask], b1, w2, b2), strict=True):
            parameter.copy_(start)
    adam = torch.optim.Adam(model.parameters(), lr=schedule.learning_rate, weight_decay=PARAMS.weight_decay)
    inputs, labels = torch.from_numpy(own), torch.from_numpy(classifiers.labels[:, number])
    for order in batch_order(len(inputs), schedule.epochs, seed):
        for start in range(0, len(order), PARAMS.batch_size):
            rows = order[start : start + PARAMS.batch_size]
            adam.zero_grad()
            outputs = model(inputs[rows])
            if classifiers.values == 2:
                loss = torch.nn.functional.binary_cross_entropy_with_logits(outputs[:, 0], labels[rows].float())
            else:
                loss = torch.nn.functional.cross_entropy(outputs, labels[rows])
            loss.backward()
            adam.step()
    with torch.no_grad():
        outputs = model(torch.from_numpy(others)).double()
    if classifiers.values == 2:
        yes = outputs[:, 0].sigmoid()
        return torch.stack([1 - yes, yes], dim=1).numpy()
    return outputs.softmax(dim=1).numpy()


@pytest.mark.parametrize(
    "classifiers",
    [
        {"values": 2, "m": 4},
        {"values": 2, "m": 4, "masked": True},
        {"values": 2, "m": 2, "own": True},
        {"values": 3, "m": 2},
    ],
)
def test_joint_classifiers_equal_those_trained_alone_on_their_own_inputs(classifiers: dict) -> None:
    made, others = _classifiers(**classifiers)
    together = train_and_predict(made, others, PARAMS, seed=5)
    for number in range(classifiers["m"]):
        np.testing.assert_allclose(together[number], _plain_loop(made, number, others, 5), atol=2e-5)
    np.testing.assert_allclose(together.sum(axis=-1), 1)


def test_bfloat16_products_change_probabilities_by_less_than_0_02() -> None:
    classifiers, others = _classifiers(2, 4, masked=True)
    exact = train_and_predict(classifiers, others, PARAMS, seed=5)
    coarse = train_and_predict(classifiers, others, PARAMS.model_copy(update={"precision": "bfloat16"}), seed=5)
    assert 0 < np.abs(coarse - exact).max() < 0.02


def test_the_seed_alone_decides_weights_and_batch_order() -> None:
    classifiers, others = _classifiers(2, 2)
    first = train_and_predict(classifiers, others, PARAMS, seed=1)
    np.testing.assert_array_equal(first, train_and_predict(classifiers, others, PARAMS, seed=1))
    assert np.abs(first - train_and_predict(classifiers, others, PARAMS, seed=2)).max() > 1e-3


def test_small_training_sets_get_more_epochs_for_the_same_number_of_steps() -> None:
    schedule = PARAMS.two_values
    assert epochs_for(100, schedule, PARAMS) == epochs_for(8000, schedule, PARAMS) == schedule.epochs
    assert epochs_for(25, schedule, PARAMS) == 4 * schedule.epochs
    assert epochs_for(3, schedule, PARAMS) == epochs_for(20, schedule, PARAMS) == 20  # a batch has 20 rows
    assert epochs_for(30, schedule, PARAMS) == 14  # 4 epochs of 100 rows, rounded up


@pytest.mark.parametrize(("values", "masked", "precision"), [(2, True, "float32"), (3, False, "bfloat16")])
def test_all_operations_of_training_and_prediction_are_on_the_chosen_device(
    values: int, masked: bool, precision: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    classifiers, others = _classifiers(values, 2, masked=masked)
    adam = sys.modules[torch.optim.Adam.__module__]
    monkeypatch.setattr(adam, "_device_dtype_check_for_fused", lambda *_: None)  # it knows real devices
    monkeypatch.setattr(torch.Tensor, "cpu", lambda self: torch.zeros(self.shape))  # OTHER has no values to copy
    with OneDevice() as device:
        params = PARAMS.model_copy(update={"precision": precision})
        assert train_and_predict(classifiers, others, params, 5, OTHER).shape == (2, 30, values)
    assert device.operations > 100


def test_a_missing_gpu_is_an_error_that_names_the_param(monkeypatch: pytest.MonkeyPatch) -> None:
    classifiers, others = _classifiers(2, 2)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    params = Baselines(neural=PARAMS, seeds=[5])
    (found,) = train_job(Job("normal/mean", (), classifiers, others, params.model_copy(update={"device": "auto"})))
    np.testing.assert_array_equal(found, train_and_predict(classifiers, others, PARAMS, seed=5))
    cuda = params.model_copy(update={"device": "cuda"})
    with pytest.raises(ParamsError, match=r"baselines.device is cuda, but torch .* finds no GPU; set baselines.device"):
        train_job(Job("normal/mean", (), classifiers, others, cuda))
