"""scikit-learn's grid search as described in Appendix F.2, to compare with ours."""

import warnings
from typing import Any

from sklearn.metrics import f1_score
from sklearn.model_selection import GridSearchCV

from tasks.baselines.xgboost_lockstep import TrainingSet
from tasks.baselines.xgboost_tab import Combination, plain_classifier


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
