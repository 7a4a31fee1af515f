"""XGBoost-tab: gradient boosting on the tabular evidence, with hyper-parameters by search over a grid (3.2.2, F.2)."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from itertools import product
from typing import Any, get_type_hints

import numpy as np
import pandas as pd
import xgboost as xgb
from sklearn.model_selection import StratifiedKFold

from schemas.params.learning import Baselines, GridName
from schemas.tables.baselines import TUNED
from schemas.tables.columns import typed
from tasks.baselines.scoring import STAGE
from tasks.baselines.targets import (
    Floats,
    Fold,
    Integers,
    Parts,
    Singles,
    Target,
    fitted_targets,
    labels_of,
    lacking,
    ordinal_features,
    prediction_rows,
    prediction_table,
)
from tasks.baselines.workers import run_jobs
from tasks.baselines.xgboost_lockstep import Lockstep, TrainingSet, TreeSettings, balance_of
from tasks.network.graph import EVIDENCE_SETTINGS, EvidenceSetting, NetworkDefinition, evidence_columns
from tasks.statistics.metric_rows import COMPUTED, metric_row, metric_table


@dataclass(frozen=True)
class Combination(TreeSettings):
    """One combination of hyper-parameters."""

    n_estimators: int
    subsample: float

    @classmethod
    def of(cls, row: Mapping[Any, Any]) -> "Combination":
        """From a row of the TUNED table, whose numbers are floats."""
        return cls(**{name: kind(row[name]) for name, kind in get_type_hints(cls).items()})


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

FIRST: dict[str, tuple[Any, ...]] = {name: values[:1] for name, values in PUBLISHED.items()}
"""One combination, for trials."""

GRIDS: dict[GridName, dict[str, tuple[Any, ...]]] = {"published": PUBLISHED, "quick": QUICK, "first": FIRST}


def combinations(grid: GridName) -> list[Combination]:
    """All combinations of a grid in GridSearchCV's order, which breaks ties."""
    names = sorted(GRIDS[grid])
    products = product(*(GRIDS[grid][name] for name in names))
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
    names = [field.name for field in fields(TreeSettings)]
    shared = {TreeSettings(**{name: getattr(one, name) for name in names}) for one in combinations}
    for settings in sorted(shared, key=repr):
        for rounds, margins in lockstep.run(settings, stops):
            binary = len(margins) == 1  # a margin of the second value alone
            predicted = (1 / (1 + np.exp(-margins[0])) > 0.5).astype(np.int64) if binary else margins.argmax(axis=0)
            for group, (share, fold) in enumerate(lockstep.groups):
                key = Combination(**vars(settings), n_estimators=rounds, subsample=share)
                if key in place:
                    scores[place[key], fold] = f1_of_counts(held_out[fold], predicted[:, group])
    return scores


def _counts(data: TrainingSet, cell_of: Integers, rows: Integers) -> Floats:
    """Number of held-out records by label and distinct row, (values, distinct rows)."""
    counts = np.zeros((data.values, cell_of.max() + 1))
    np.add.at(counts, (data.labels[rows], cell_of[rows]), 1)
    return counts


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
        tree_method="hist", n_jobs=1, random_state=seed, eval_metric=metric, **balance, **asdict(combination)
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


SYSTEM = "XGBoost-tab"
AS_RELEASED = "XGBoost-tab as released"
"""SimSUM's released code: its ColumnTransformer drops counts (days at home), which Appendix F.2 lists as a feature."""


@dataclass(frozen=True)
class Job:
    """One classifier: its train records, the evidence of the test records, and how to tune it."""

    target: Target
    setting: EvidenceSetting
    train: TrainingSet
    test: Singles
    params: Baselines
    seed: int
    known: Combination | None = None  # hyper-parameters chosen earlier; None: tune


def training_set(
    records: pd.DataFrame, columns: list[str], target: Target, definition: NetworkDefinition
) -> TrainingSet:
    """Evidence and labels with the class balance of Appendix F.2.

    Two values: scale_pos_weight is negatives over positives. More: a record's weight is n / (values * records of its
    label), as with scikit-learn's "balanced".
    """
    labels, values = labels_of(records, target), len(target.values)
    counts = np.maximum(np.bincount(labels, minlength=values), 1)
    weights = np.array([1, counts[0] / counts[1]]) if target.is_binary else len(labels) / (values * counts)
    return TrainingSet(ordinal_features(records, columns, definition), labels, weights)


def cannot_fit(parts: Parts, params: Baselines) -> dict[str, str]:
    """Reasons by symptom: each fold of the stratified cross-validation needs every value."""
    return lacking(parts, each=params.xgboost.folds)


Known = dict[tuple[str, str], Combination]
"""Hyper-parameters by symptom and evidence setting."""


def jobs_of(
    parts: Parts, params: Baselines, seed: int, known: Known | None = None, *, counts: bool = True
) -> list[Job]:
    """One job per symptom and setting, the longest (most values, most evidence) first.

    ``known`` hyper-parameters are used without tuning; without ``counts`` the evidence lacks counts (`AS_RELEASED`).
    """
    jobs, definition = [], parts.definition
    for target, setting in product(fitted_targets(parts, cannot_fit(parts, params)), EVIDENCE_SETTINGS):
        columns = evidence_columns(definition, target.symptom, setting)
        if not counts:
            columns = [name for name in columns if not definition.is_count(name)]
        data = training_set(parts.train, columns, target, definition)
        evidence = ordinal_features(parts.test, columns, definition)
        chosen = known[target.symptom, setting] if known else None
        jobs.append(Job(target, setting, data, evidence, params, seed, chosen))
    return sorted(jobs, key=lambda job: (-job.train.values, -job.test.shape[1], job.target.symptom))


def tune_and_predict(job: Job) -> tuple[Floats, Combination, float]:
    """Probabilities of the test records (n, values), the chosen combination and its mean F1 in cross-validation."""
    if job.known:
        chosen, score = job.known, float("nan")
    else:
        xgboost, grid = job.params.xgboost, combinations(job.params.xgboost.grid)
        result = search(job.train, grid, folds=xgboost.folds, seed=job.seed, verify=xgboost.verify)
        chosen, score = result.best, float(np.average(result.checked[result.chosen]))
    fitted = fit_plain(job.train, chosen, np.arange(len(job.train.labels)), job.seed)
    return fitted.predict_proba(job.test).astype(float), chosen, score


def predict(
    parts: Parts, params: Baselines, seed: int, known: Known | None = None, *, counts: bool = True
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """PREDICTIONS of XGBoost-tab in every evidence setting, and TUNED: the chosen hyper-parameters and their grid.

    ``known`` and ``counts`` as of `jobs_of`.
    """
    jobs = jobs_of(parts, params, seed, known, counts=counts)
    predictions, tuned = [], []
    for job, (probabilities, chosen, score) in zip(
        jobs, run_jobs(tune_and_predict, jobs, params.processes), strict=True
    ):
        rows = prediction_rows(parts.test, probabilities, job.target, system=SYSTEM, condition=job.setting, seed=seed)
        predictions.append(rows)
        tuned.append(
            {
                "symptom": job.target.symptom,
                "setting": job.setting,
                "grid": params.xgboost.grid,
                "combinations": np.int64(len(combinations(params.xgboost.grid))),
                **{name: float(value) for name, value in asdict(chosen).items()},
                "score": score,
            }
        )
    return prediction_table(predictions), typed(tuned, TUNED).sort_values(["symptom", "setting"], ignore_index=True)


def tuned_rows(tuned: pd.DataFrame, train: int, seed: int) -> pd.DataFrame:
    """METRICS rows of the chosen hyper-parameters, and the mean F1 in cross-validation as ``cv_f1``.

    The condition names the grid that was searched.
    """
    rows = []
    for chosen in tuned.to_dict("records"):
        keys = {
            "condition": f"{chosen['setting']}, {chosen['grid']} grid of {chosen['combinations']}",
            "item": chosen["symptom"],
            "n": train,
        }
        names = [name for name in tuned.columns if name not in ("symptom", "setting", "grid", "combinations", "score")]
        rows.append(metric_row("cv_f1", chosen["score"], **keys))
        rows += [metric_row(str(name), chosen[name], **keys) for name in names]
    return metric_table(rows, stage=STAGE, system=SYSTEM, seed=seed, provenance=COMPUTED)
