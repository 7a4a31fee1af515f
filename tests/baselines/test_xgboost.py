"""The fast grid search chooses what GridSearchCV chooses, from the same scores."""

import warnings
from dataclasses import asdict
from typing import Any

import numpy as np
import pytest
import xgboost as xgb
from sklearn.metrics import f1_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold

from tasks.baselines.xgboost_lockstep import TrainingSet, row_draws
from tasks.baselines.xgboost_tab import (
    GRIDS,
    Combination,
    combinations,
    fast_scores,
    plain_classifier,
    plain_scores,
    search,
    training_set,
)
from tasks.network.graph import EvidenceSetting, evidence_columns
from tests.baselines.samples import TARGETS, records
from tests.support.records import NETWORK


def plain_f1(classifier: Any, evidence: Any, labels: Any) -> float:
    """Unweighted F1 or macro F1. scikit-learn's named scorers would use the sample weights of the fit."""
    average = "binary" if len(classifier.classes_) == 2 else "macro"
    return float(f1_score(labels, classifier.predict(evidence), average=average))


def grid_search(
    data: TrainingSet, grid: dict[str, list[Any]], first: Combination, *, folds: int, seed: int
) -> GridSearchCV:
    """GridSearchCV over ``grid``, fitted; labels of more than two values are balanced by weights."""
    search = GridSearchCV(plain_classifier(data, first, seed), grid, scoring=plain_f1, cv=folds, refit=False)
    weights = {} if data.values == 2 else {"sample_weight": data.label_weights[data.labels]}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*does not support sample_weight")
        return search.fit(data.evidence, data.labels, **weights)


SEED = 7
SMALL = {
    "colsample_bytree": (0.8, 1),
    "gamma": (0, 0.3),
    "learning_rate": (0.1, 0.2),
    "max_depth": (2, 4),
    "min_child_weight": (1, 10),
    "n_estimators": (4, 9),
    "subsample": (0.8, 1),
}


def _data(symptom: str, setting: EvidenceSetting) -> TrainingSet:
    target = next(t for t in TARGETS if t.symptom == symptom)
    return training_set(records(600), evidence_columns(NETWORK, symptom, setting), target, NETWORK)


CLASSIFIERS = [("cough", "all"), ("pain", "realistic"), ("fever", "no-sympt")]


VARIED = (
    ("colsample_bytree", "gamma", "max_depth", "subsample"),
    ("gamma", "learning_rate", "min_child_weight", "n_estimators"),
    ("colsample_bytree", "learning_rate", "max_depth", "n_estimators"),
)
"""The settings with two values in each classifier's grid."""


@pytest.mark.parametrize(("classifier", "varied"), zip(CLASSIFIERS, VARIED, strict=True), ids=map(str, CLASSIFIERS))
def test_search_chooses_as_grid_search_does(
    classifier: tuple[str, EvidenceSetting], varied: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    small = {name: values if name in varied else values[:1] for name, values in SMALL.items()}
    monkeypatch.setitem(GRIDS, "quick", small)
    data, grid = _data(*classifier), combinations("quick")
    assert len(grid) == 2**4
    peer = grid_search(data, {name: list(values) for name, values in small.items()}, grid[0], folds=3, seed=SEED)
    ours = search(data, grid, folds=3, seed=SEED, verify=5)
    assert [asdict(c) for c in grid] == peer.cv_results_["params"]
    assert asdict(ours.best) == peer.best_params_
    theirs = np.stack([peer.cv_results_[f"split{fold}_test_score"] for fold in range(3)], axis=1)
    assert np.mean(np.abs(ours.scores - theirs) < 1e-12) > 0.99
    for place, scores in ours.checked.items():
        np.testing.assert_allclose(scores, theirs[place], atol=1e-12)


def test_a_wrong_fast_score_is_corrected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(GRIDS, "quick", {**SMALL, "colsample_bytree": (1,), "gamma": (0,), "n_estimators": (4,)})
    data, grid = _data("cough", "realistic"), combinations("quick")
    folds = list(StratifiedKFold(2).split(data.evidence, data.labels))
    right = np.array([np.average(plain_scores(data, c, folds, SEED)) for c in grid])
    wrong = fast_scores(data, grid, folds, SEED) * np.linspace(1, 0.5, len(grid))[:, None]
    monkeypatch.setattr("tasks.baselines.xgboost_tab.fast_scores", lambda *_: wrong)
    ours = search(data, grid, folds=2, seed=SEED, verify=1)
    assert right[ours.chosen] == right.max()


def test_row_draws_equal_those_of_xgboost() -> None:
    """A stump that splits on nothing has the number of rows it kept as its cover."""
    rows = np.zeros((500, 1), dtype=np.float32)
    settings = {"subsample": 0.8, "seed": 11, "tree_method": "hist", "nthread": 1, "base_score": 0.0}
    data = xgb.QuantileDMatrix(rows, label=np.zeros(500))
    booster = xgb.train(settings, data, 6)  # squared error: the second derivative of each kept row is 1
    cover = booster.trees_to_dataframe().query("Node == 0")["Cover"].to_numpy()
    np.testing.assert_array_equal(cover, row_draws(500, 6, 0.8, seed=11).sum(axis=1))
