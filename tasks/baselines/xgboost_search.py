"""Grid search by cross-validation (Appendix F.2): the choice of GridSearchCV without its 6,480 fits per classifier."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any, get_type_hints

import numpy as np
import xgboost as xgb
from sklearn.model_selection import StratifiedKFold

from schemas.params.learning import GridName
from tasks.baselines.targets import Floats, Integers, Singles
from tasks.baselines.xgboost_lockstep import Fold, Lockstep, TrainingSet, TreeSettings, balance_of


@dataclass(frozen=True, order=True)
class Combination:
    """One combination of hyper-parameters. Fields are in ParameterGrid's order: by name, the last varying fastest."""

    colsample_bytree: float
    gamma: float
    learning_rate: float
    max_depth: int
    min_child_weight: int
    n_estimators: int
    subsample: float

    @classmethod
    def of(cls, row: Mapping[Any, Any]) -> "Combination":
        """From a row of the TUNED table, whose numbers are floats."""
        return cls(**{name: kind(row[name]) for name, kind in get_type_hints(cls).items()})

    def as_dict(self) -> dict[str, Any]:
        """Keyword arguments of an XGBClassifier."""
        return asdict(self)


PUBLISHED: dict[str, tuple[Any, ...]] = {
    "colsample_bytree": (0.8, 1),
    "gamma": (0, 0.1, 0.3),
    "learning_rate": (0.01, 0.1, 0.2),
    "max_depth": (2, 3, 4, 5),
    "min_child_weight": (1, 5, 10),
    "n_estimators": (50, 100, 200),
    "subsample": (0.8, 1),
}
"""1,296 combinations (Appendix F.2)."""

QUICK: dict[str, tuple[Any, ...]] = {
    **PUBLISHED,
    "colsample_bytree": (1,),
    "gamma": (0,),
    "max_depth": (2, 4),
    "min_child_weight": (1, 5),
}
"""72 combinations, for quick runs."""

GRIDS: dict[GridName, dict[str, tuple[Any, ...]]] = {"published": PUBLISHED, "quick": QUICK}


def combinations(grid: GridName) -> list[Combination]:
    """All combinations of a grid in GridSearchCV's order, which breaks ties."""
    options = GRIDS[grid]
    names = sorted(options)
    products = product(*(options[name] for name in names))
    return [Combination(**dict(zip(names, values, strict=True))) for values in products]


TOLERATED = 0.02
"""Accepted error of the fast search in mean F1; beyond it, every combination that could win is refitted."""
ALWAYS_VERIFIED = 3
"""Number of best combinations that are refitted in any case."""


@dataclass(frozen=True)
class SearchResult:
    """``scores`` (combinations, folds) of the fast search; ``checked``: plain scores (folds,) of those refitted."""

    combinations: list[Combination]
    scores: Floats
    checked: dict[int, Floats]
    chosen: int

    @property
    def best(self) -> Combination:
        """The chosen combination."""
        return self.combinations[self.chosen]


def search(
    data: TrainingSet, combinations: Sequence[Combination], *, folds: int, seed: int, verify: int
) -> SearchResult:
    """Score every combination, refit the best ones with plain XGBoost, and choose the first of highest mean F1.

    Fast scores can differ from plain fits where the gains of two splits are equal up to rounding. The best combinations
    are therefore refitted, from the highest fast score down, as long as one could still win given the largest
    difference found so far: at least three, and at most ``verify`` of them.
    """
    parts = list(StratifiedKFold(folds).split(data.evidence, data.labels))
    scores = fast_scores(data, combinations, parts, seed)
    checked: dict[int, Floats] = {}
    means = np.array([np.average(row) for row in scores])
    error, best = 0.0, (-np.inf, 0)
    for place in np.lexsort((np.arange(len(means)), -means)):
        could_win = (means[place] + error, -place) > best
        enough = len(checked) >= (verify if could_win else ALWAYS_VERIFIED)
        if enough and (not could_win or error <= TOLERATED):
            break
        checked[int(place)] = plain_scores(data, combinations[place], parts, seed)
        mean = float(np.average(checked[int(place)]))
        error = max(error, abs(mean - means[place]))
        best = max(best, (mean, -int(place)))
    return SearchResult(list(combinations), scores, checked, -best[1])


def fast_scores(data: TrainingSet, combinations: Sequence[Combination], folds: Sequence[Fold], seed: int) -> Floats:
    """F1 of each combination on each held-out fold, (combinations, folds), all models grown together."""
    subsamples = sorted({c.subsample for c in combinations})
    stops = sorted({c.n_estimators for c in combinations})
    lockstep = Lockstep(data, folds, subsamples, max(stops), seed)
    held_out = [_counts(data, lockstep.cell_of, rows) for _, rows in folds]
    place = {combination: number for number, combination in enumerate(combinations)}
    scores = np.full((len(place), len(folds)), np.nan)
    for settings in sorted({_shared(c) for c in combinations}, key=repr):
        for rounds, margins in lockstep.run(settings, stops):
            predicted = predicted_labels(margins)
            for group, (share, fold) in enumerate(lockstep.groups):
                key = Combination(**vars(settings), n_estimators=rounds, subsample=share)
                if key in place:
                    scores[place[key], fold] = f1_of_counts(held_out[fold], predicted[:, group])
    return scores


def _shared(combination: Combination) -> TreeSettings:
    return TreeSettings(**{name: getattr(combination, name) for name in TreeSettings.__dataclass_fields__})


def _counts(data: TrainingSet, cell_of: Integers, rows: Integers) -> Floats:
    """Number of held-out records by label and distinct row, (values, distinct rows)."""
    counts = np.zeros((data.values, cell_of.max() + 1))
    np.add.at(counts, (data.labels[rows], cell_of[rows]), 1)
    return counts


def predicted_labels(margins: Singles) -> Integers:
    """Predicted labels from margins (outputs, ...): probability above 0.5, or the highest."""
    if len(margins) == 1:
        return (1 / (1 + np.exp(-margins[0])) > 0.5).astype(np.int64)
    return margins.argmax(axis=0)


def f1_of_counts(counts: Floats, predicted: Integers) -> float:
    """F1 of the second of two values, macro F1 of more, as computed by sklearn's f1_score.

    ``counts`` (values, cells) is the number of records of each label in a cell, ``predicted`` (cells,) its prediction.
    """
    values = len(counts)
    confusion = np.stack([counts[:, predicted == value].sum(axis=1) for value in range(values)], axis=1)
    hits, total = np.diag(confusion), confusion.sum(axis=0) + confusion.sum(axis=1)
    scores = np.divide(2 * hits, total, out=np.zeros(values), where=total > 0)
    return float(scores[1]) if values == 2 else float(np.average(scores[total > 0]))


def plain_classifier(data: TrainingSet, combination: Combination, seed: int) -> xgb.XGBClassifier:
    """The classifier that GridSearchCV would fit, unfitted."""
    balance, _ = balance_of(data, data.labels[:0])
    metric = "logloss" if data.values == 2 else "mlogloss"
    return xgb.XGBClassifier(
        tree_method="hist", n_jobs=1, random_state=seed, eval_metric=metric, **balance, **combination.as_dict()
    )


def fit_plain(data: TrainingSet, combination: Combination, rows: Integers, seed: int) -> xgb.XGBClassifier:
    """`plain_classifier` fitted on the records ``rows``."""
    _, weights = balance_of(data, rows)
    classifier = plain_classifier(data, combination, seed)
    return classifier.fit(data.evidence[rows], data.labels[rows], sample_weight=weights)


def plain_scores(data: TrainingSet, combination: Combination, folds: Sequence[Fold], seed: int) -> Floats:
    """F1 on each held-out fold from plain fits, (folds,)."""
    scores = []
    for train, rest in folds:
        predicted = fit_plain(data, combination, train, seed).predict(data.evidence[rest])
        counts = np.zeros((data.values, len(rest)))
        counts[data.labels[rest], np.arange(len(rest))] = 1
        scores.append(f1_of_counts(counts, np.asarray(predicted, dtype=np.int64)))
    return np.array(scores)
