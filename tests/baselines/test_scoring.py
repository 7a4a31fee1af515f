"""Metrics equal sklearn's; comparisons and reproduction rows are checked by hand."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm, t
from sklearn.metrics import f1_score, log_loss, precision_score, recall_score

from flows.runtime.tables import check
from schemas.errors import TableError
from schemas.tables.metrics import METRICS as METRIC_TABLE
from tasks.baselines.comparisons import Swaps, adjusted_p, compare, regenerated_rows
from tasks.baselines.replicates import replicate_rows
from tasks.baselines.scoring import METRICS, Scored
from tasks.baselines.targets import Target, decide, parts_of, split_records
from tests.baselines.samples import random_predictions
from tests.support.records import NETWORK

VALUES = {2: ("no", "yes"), 3: ("none", "low", "high")}


def _model(labels: np.ndarray, *probabilities: np.ndarray) -> Scored:
    target = Target("cough", VALUES[probabilities[0].shape[1]])
    return Scored("s", "c", target, np.arange(len(labels)), labels, tuple(range(len(probabilities))), probabilities)


@pytest.mark.parametrize("values", [2, 3])
def test_metrics_are_those_of_sklearn(values: int) -> None:
    labels, probabilities = random_predictions(values, 300)
    ours = {name: _model(labels, probabilities).interval(name, 10)[0] for name in METRICS}
    average = "binary" if values == 2 else "macro"
    predicted = decide(probabilities)
    assert ours["f1"] == pytest.approx(f1_score(labels, predicted, average=average))
    assert ours["precision"] == pytest.approx(precision_score(labels, predicted, average=average))
    assert ours["recall"] == pytest.approx(recall_score(labels, predicted, average=average))
    assert ours["log_loss"] == pytest.approx(log_loss(labels, probabilities))
    squared = (probabilities - np.eye(values)[labels]) ** 2
    assert ours["brier"] == pytest.approx((squared[:, 1:] if values == 2 else squared).sum(axis=1).mean())


def test_calibration_error_by_hand() -> None:
    """Two bins: four records at 0.25 of which two are yes, one at 0.9 that is yes.

    Distances (4 * 0.25 - 2, 0.9 - 1) / 5 = 0.2, 0.02; sizes of their errors sqrt(2 / 16 + 2 * 9 / 16) / 5 and 0.02.
    """
    yes, labels = np.array([0.25, 0.25, 0.25, 0.25, 0.9]), np.array([1, 1, 0, 0, 1])
    errors = np.array([np.sqrt(2 * 0.0625 + 2 * 0.5625) / 5, 0.02])
    z = np.array([0.2, 0.02]) / errors
    folded = 2 * errors * norm.pdf(z) + np.array([0.2, 0.02]) * (2 * norm.cdf(z) - 1)
    value, low, high = _model(labels, np.stack([1 - yes, yes], axis=1)).interval("calibration_error", 2)
    assert value == pytest.approx(2 * 0.22 - folded.sum())
    assert low == 0 and high == pytest.approx(value + t.isf(0.025, 4) * np.sqrt((errors**2).sum()))


def test_a_metric_of_several_seeds_is_their_mean_and_hardly_more_certain_for_equal_seeds() -> None:
    labels, first = random_predictions(3, 80)
    second = random_predictions(3, 80, seed=1)[1]
    both = _model(labels, first, second)
    by_seed = [f1_score(labels, decide(p), average="macro") for p in (first, second)]
    assert both.interval("f1", 10)[0] == pytest.approx(np.mean(by_seed))
    assert _model(labels, first, first).interval("f1", 10) == pytest.approx(_model(labels, first).interval("f1", 10))


def test_a_model_does_not_differ_from_itself_and_does_from_noise() -> None:
    labels, probabilities = random_predictions(2, 400)
    same, swapped = compare(_model(labels, probabilities), _model(labels, probabilities), Swaps(1, 200))
    assert same[0] == 0 and not swapped.any()
    noise = np.random.default_rng(0).dirichlet([1, 1], 400)
    (value, low, _), swapped = compare(_model(labels, probabilities), _model(labels, noise, noise), Swaps(1, 200))
    assert value > 0.1 and low > 0 and adjusted_p(np.array([value]), swapped[None])[0] < 0.02


def test_a_swap_of_all_predictions_changes_the_sign_of_the_difference() -> None:
    labels, first = random_predictions(3, 60)
    second, third = (random_predictions(3, 60, seed=seed)[1] for seed in (1, 2))
    swaps = Swaps(3, 5)
    _, found = compare(_model(labels, first), _model(labels, second, third), swaps)
    swapped = [np.where(swaps.kept(60)[4][:, None] > 0, *pair) for pair in ((first, second), (first, third))]
    peers = [np.where(swaps.kept(60)[4][:, None] > 0, *pair) for pair in ((second, first), (third, first))]
    f1 = [np.mean([f1_score(labels, decide(p), average="macro") for p in models]) for models in (swapped, peers)]
    assert found[4] == pytest.approx(f1[0] - f1[1])


def test_step_down_maxt_by_hand() -> None:
    """Deviations 1, 2 and 1 give the sizes 2, 1.5 and 0.5; the swaps' largest sizes are 1, 2, 1, 1 over all three."""
    swapped = np.array([[1, -1, 1, -1], [2, 2, -2, -2], [0, 2, 0, 0]], dtype=float)
    assert adjusted_p(np.array([2.0, 3.0, 0.5]), swapped).tolist() == [2 / 5, 2 / 5, 2 / 5]
    assert adjusted_p(np.array([1.0, 5.0]), swapped[:2]).tolist() == [1.0, 1 / 5]
    assert adjusted_p(np.array([0.0]), np.zeros((1, 4))).tolist() == [1.0]
    assert adjusted_p(np.zeros(0), np.zeros((0, 0))).size == 0


def test_records_outside_the_split_are_refused() -> None:
    frame = pd.DataFrame({"record": np.arange(3)})
    with pytest.raises(TableError, match="record 2 is in no part"):
        parts_of(NETWORK, frame, split_records(frame.head(2), test_share=0.5, seed=0))


def test_replicates_have_their_mean_and_the_interval_of_one_more_draw() -> None:
    replicates = pd.DataFrame({"system": "BN-tab", "condition": "all", "symptom": "cough", "f1": [0.1, 0.2, 0.3]})
    (row,) = replicate_rows(replicates, 0.99, tests=2000, seed=7).to_dict("records")
    half = 9.925 * 0.1 * (4 / 3) ** 0.5
    assert (row["value"], row["low"], row["high"]) == pytest.approx((0.2, 0.2 - half, 0.2 + half), rel=1e-3)
    assert (row["n"], row["metric"]) == (2000, "f1, mean of 3 draws with 99% prediction interval")


def test_models_are_compared_on_regenerated_and_first_notes() -> None:
    target = Target("cough", ("no", "yes"))
    probabilities = [0.9, 0.8, 0.2, 0.9, 0.1, 0.6]  # of the true value: records 2 and 4 are wrong
    columns = {"system": "reader", "condition": "normal", "symptom": "cough", "label": "yes", "value": "yes"}
    predictions = pd.DataFrame(
        {"record": range(6), "probability": probabilities, "seed": 1, "predicted": "yes", **columns}
    )
    settings = [target], {"reader": "test"}
    rows = regenerated_rows(predictions, {0: 0, 1: 0, 2: 0, 3: 1, 4: 2, 5: 0}, *settings)
    check(rows, METRIC_TABLE, "regenerated")
    found = rows.set_index("metric")
    assert found["value"].tolist() == pytest.approx([0.75, 0.5, -0.25]) and found["n"].tolist() == [4, 2, 6]
    assert (found["low"] <= found["value"]).all() and (found["value"] <= found["high"]).all()
    assert regenerated_rows(predictions, dict.fromkeys(range(6), 0), *settings).empty
